"""The opening lines of a Model Context Protocol session, answered before the SDK is loaded.

Most clients start a server, shake hands, list its tools, and may never call one. `initialize`, `ping` and `tools/list` in exactly the
shapes that clients send get the answers that the SDK would give, much faster than loading its models takes. Any other
line ends the opening: `surfaces/mcp/server` then replays the opening to the SDK, which serves the rest. Refuses: judging a
request that is unusual or wrong, and newer generations of the protocol; the SDK handles both.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import cast

from backscroll.vocab.part import Json

#: Protocol versions that begin with a handshake and list tools in the same format.
VERSIONS = frozenset({"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"})
_ENVELOPE = frozenset({"jsonrpc", "id", "method", "params"})
_CLIENT = frozenset({"name", "version", "title", "description", "websiteUrl"})
_HANDSHAKE = frozenset({"protocolVersion", "capabilities", "clientInfo"})
#: Capabilities that clients declare, and what they may state about them.
_CAPABILITIES: Mapping[str, frozenset[str]] = {
    "roots": frozenset({"listChanged"}),
    "sampling": frozenset({"context", "tools"}),
    "elicitation": frozenset({"form", "url"}),
}


class Handshake:
    """A session up to the first request that needs the SDK; `settled` holds the lines to be replayed to the SDK."""

    def __init__(self, about: Mapping[str, Json], list_tools: Callable[[], list[Json]]) -> None:
        self._about = about  # capabilities, instructions, serverInfo
        self._list_tools = list_tools
        self.settled: list[bytes] = []

    def answer(self, line: bytes) -> bytes | None:
        """Return the answer to a line, empty if none is due; None if the SDK must read this line and all that follow."""
        request = _read(line)
        if request is None:
            return None
        result = self._result(line, request)
        if result is None:
            return None
        if "id" not in request:
            return b""
        answer = {"jsonrpc": "2.0", "id": request["id"], "result": result}
        return json.dumps(answer, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"

    def _result(self, line: bytes, request: Mapping[str, Json]) -> Mapping[str, Json] | None:
        params, asked = request.get("params", {}), "id" in request
        match request["method"], asked, len(self.settled):
            case "initialize", True, 0 if _is_plain_handshake(params):
                self.settled.append(line)
                return {
                    **self._about,
                    "protocolVersion": cast("Mapping[str, Json]", params)["protocolVersion"],
                }
            case "notifications/initialized", False, 1 if params == {}:
                self.settled.append(line)
                return {}
            case "ping", True, 1 | 2 if params == {}:
                return {}
            case "tools/list", True, 2 if params == {}:
                return {"tools": self._list_tools()}
            case _:
                return None


def _read(line: bytes) -> Mapping[str, Json] | None:
    """Parse a request or notification in the plain form; None for anything else."""
    try:
        request: object = json.loads(line.decode())
    except ValueError:
        return None
    known = _object(request)
    if known is None:
        return None
    plain = (
        known.keys() <= _ENVELOPE
        and known.get("jsonrpc") == "2.0"
        and isinstance(known.get("method"), str)
        and ("id" not in known or isinstance(known["id"], str) or type(known["id"]) is int)
    )
    return known if plain else None


def _object(value: Json) -> Mapping[str, Json] | None:
    return cast("Mapping[str, Json]", value) if isinstance(value, dict) else None


def _is_plain_handshake(params: Json) -> bool:
    given = _object(params)
    if given is None or given.keys() ^ _HANDSHAKE:
        return False
    version, client = given["protocolVersion"], _object(given["clientInfo"])
    return (
        isinstance(version, str)
        and version in VERSIONS
        and client is not None
        and {"name", "version"} <= client.keys() <= _CLIENT
        and all(isinstance(value, str) for value in client.values())
        and _are_plain_capabilities(_object(given["capabilities"]))
    )


def _are_plain_capabilities(given: Mapping[str, Json] | None) -> bool:
    """Return True for objects of empty objects and booleans in known places: what the SDK accepts in every version."""
    if given is None:
        return False
    return all(_is_plain_capability(name, _object(about)) for name, about in given.items())


def _is_plain_capability(name: str, about: Mapping[str, Json] | None) -> bool:
    if about is None or name not in _CAPABILITIES or not about.keys() <= _CAPABILITIES[name]:
        return False
    values = about.values()
    return all(isinstance(v, bool) for v in values) if name == "roots" else all(v == {} for v in values)
