"""The line to one client: messages of JSON-RPC, one a line, on stdin and stdout.

Owns reading and writing them, answering several at once (a long recall keeps nobody waiting), leaving out what was cancelled, and keeping
stdout for the protocol alone: what anything else prints goes to stderr. What is no message is answered with what is wrong, and the line
goes on. Refuses: what requests mean (`surfaces/mcp/server`). After: the command `mcp`.
"""

from __future__ import annotations

import contextlib
import json
import sys
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import BinaryIO, cast

from backscroll.surfaces.mcp.memory_tools import Memory
from backscroll.surfaces.mcp.server import Refused, Server
from backscroll.vocab.part import Json

_NO_JSON, _NO_MESSAGE, _FAULT = -32700, -32600, -32603
_AT_ONCE = 4
_LONGEST = 4_000_000  # bytes of one message


def serve(memory: Memory) -> None:
    """Answer until the other side hangs up."""
    kept = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):
        Line(Server(memory), sys.stdin.buffer, kept.buffer).run()


class Line:
    """One client."""

    def __init__(self, server: Server, source: BinaryIO, drain: BinaryIO) -> None:
        self._server, self._source, self._drain = server, source, drain
        self._writing = threading.Lock()
        self._cancelled: set[Json] = set()

    def run(self) -> None:
        """Take messages until there are no more; what was asked before is still answered."""
        with ThreadPoolExecutor(_AT_ONCE, "mcp") as pool:
            while line := self._source.readline(_LONGEST):
                if not line.strip():
                    continue
                message = self._read(line)
                if isinstance(message, list):  # one generation of the protocol has several in one
                    pool.submit(self._several, cast("list[Json]", message))
                elif isinstance(message, dict):
                    pool.submit(self._one, cast("dict[str, Json]", message))
                    self._note(cast("dict[str, Json]", message))

    def _read(self, line: bytes) -> Json:
        """A message; None, and an answer that says so, where it is none."""
        try:
            message: Json = json.loads(line.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            self._write(_error(None, _NO_JSON, "Parse error: one line is one JSON message"))
            return None
        if not isinstance(message, dict | list):
            self._write(_error(None, _NO_MESSAGE, "Invalid request: not an object"))
            return None
        return cast("Json", message)

    def _note(self, message: Mapping[str, Json]) -> None:
        """Remember what was cancelled."""
        if message.get("method") == "notifications/cancelled":
            params: Json = message.get("params")
            named = (
                cast("Mapping[str, Json]", params).get("requestId") if isinstance(params, Mapping) else None
            )
            if isinstance(named, str | int):
                self._cancelled.add(named)

    def _one(self, message: Mapping[str, Json]) -> None:
        reply = self._reply(message)
        name = _named(message.get("id"))
        if reply is not None and name not in self._cancelled:
            self._write(reply)
        self._cancelled.discard(name)

    def _several(self, messages: list[Json]) -> None:
        replies = [
            reply
            for each in messages
            if (reply := self._reply(cast("Mapping[str, Json]", each) if isinstance(each, dict) else {}))
            is not None
        ]
        if replies or not messages:
            self._write(replies or _error(None, _NO_MESSAGE, "Invalid request: nothing in it"))

    def _reply(self, message: Mapping[str, Json]) -> dict[str, Json] | None:
        """The answer to one message; None for those that want none."""
        method, name = message.get("method"), message.get("id")
        if not isinstance(method, str):
            if "result" in message or "error" in message:
                return None  # we ask nothing, so nobody can mean us
            return _error(_named(name), _NO_MESSAGE, "Invalid request: no method")
        if "id" not in message:
            return None
        params: Json = message.get("params")
        given: Mapping[str, Json] = cast("Mapping[str, Json]", params) if isinstance(params, Mapping) else {}
        try:
            return {"jsonrpc": "2.0", "id": _named(name), "result": self._server.answer(method, given)}
        except Refused as no:
            return _error(_named(name), no.code, no.message, no.data)
        except Exception as error:  # noqa: BLE001 - outermost boundary: a fault of ours must not end the line
            return _error(_named(name), _FAULT, f"Internal error: {type(error).__name__}: {error}")

    def _write(self, message: Json) -> None:
        text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
        data = text.encode("utf-8", "replace") + b"\n"
        with self._writing, contextlib.suppress(BrokenPipeError, ValueError):  # the other side has hung up
            self._drain.write(data)
            self._drain.flush()


def _named(name: Json) -> Json:
    return name if isinstance(name, str | int) and not isinstance(name, bool) else None


def _error(name: Json, code: int, message: str, data: Json = None) -> dict[str, Json]:
    body: dict[str, Json] = {"code": code, "message": message}
    if data is not None:
        body["data"] = data
    return {"jsonrpc": "2.0", "id": name, "error": body}
