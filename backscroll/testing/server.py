"""Serve a scripted model over HTTP on the loopback interface, at its own port.

Owns sockets and threads, all of which end when it is stopped, however many clients are connected.
"""

from __future__ import annotations

import json
import select
import socket
import threading
from collections.abc import Callable, Iterable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, cast

from backscroll.testing import speak_anthropic, speak_chat, speak_responses
from backscroll.testing.answer import MOMENT, fault_body, fault_event
from backscroll.testing.cache import rough_count
from backscroll.testing.decision import RequestDecision, ScriptedService
from backscroll.testing.request import ScriptedRequest, read_request
from backscroll.testing.request_log import RequestLog
from backscroll.testing.scenario import Fault, Line, Scenario
from backscroll.vocab.part import Json
from backscroll.vocab.prompt import Wire

_ROUTES: Mapping[str, Wire] = {
    "/chat/completions": "openai-chat",
    "/responses": "openai-responses",
    "/messages": "anthropic",
}
_SPEAKERS = {"openai-chat": speak_chat, "openai-responses": speak_responses, "anthropic": speak_anthropic}
_LARGEST = 64_000_000  # bytes of a request
_LOOK = 0.02  # seconds between two looks for a file


def _wire(path: str) -> Wire | None:
    for end, wire in _ROUTES.items():
        if path.endswith(end):
            return wire
    return None


class ScriptedServer:
    """A server that plays a scenario; use it in a `with`."""

    def __init__(
        self,
        scenario: Scenario | None = None,
        *lines: Line,
        port: int = 0,
        count: Callable[[str], int] = rough_count,
        log: str | Path | None = None,
    ) -> None:
        scenario = scenario or Scenario(lines=lines)
        written = None if log is None else RequestLog(log)
        self.service = ScriptedService(scenario, count=count, log=written)
        self._stopping = threading.Event()
        self._server = _HttpServer(("127.0.0.1", port), self.service, self._stopping)
        self._thread: threading.Thread | None = None

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        """The base URL for clients, on any wire."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def asked(self) -> list[ScriptedRequest]:
        """Every request so far."""
        return list(self.service.asked)

    @property
    def flaws(self) -> list[str]:
        """The flaws of prompts so far: invalid, over the budget, or without a matching line."""
        return list(self.service.flaws)

    def start(self) -> ScriptedServer:
        """Start serving in a thread of this process."""
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.02,), name="scripted-model"
        )
        self._thread.start()
        return self

    def serve(self) -> None:
        """Serve in this thread until interrupted."""
        self._server.serve_forever()

    def stop(self) -> None:
        """End every connection and every thread; a second call does nothing."""
        self._stopping.set()
        if self._thread is not None:
            self._server.shutdown()
            self._thread.join()
            self._thread = None
        self._server.hang_up()
        self._server.server_close()

    def __enter__(self) -> ScriptedServer:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


class _HttpServer(ThreadingHTTPServer):
    """Waits for its threads when it is closed, and can end the connections that they wait on."""

    daemon_threads = False
    block_on_close = True

    def __init__(self, address: tuple[str, int], service: ScriptedService, stopping: threading.Event) -> None:
        self.service = service
        self.stopping = stopping
        self._open: set[socket.socket] = set()
        self._guard = threading.Lock()
        super().__init__(address, _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Remember the connection, so that it can be ended."""
        with self._guard:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Forget a connection that has ended."""
        with self._guard:
            self._open.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        """End every connection; threads that wait for more wake up."""
        with self._guard:
            for connection in self._open:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    continue  # gone already


class _ConnectionDrop(Exception):
    """The connection ends here, in the middle of an answer."""


class _Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server: _HttpServer  # pyright: ignore[reportIncompatibleVariableOverride] - always ours

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: it would clutter the output of tests."""

    def handle(self) -> None:
        """Answer requests until the client or the scenario ends the connection."""
        try:
            super().handle()
        except (_ConnectionDrop, ConnectionError):
            self.close_connection = True

    def do_GET(self) -> None:
        """Answer with the list of models."""
        wrong = self.server.service.welcome(self._headers())
        if wrong is not None:
            self._refuse("openai-chat", wrong)
        elif not self.path.partition("?")[0].endswith("/models"):
            self._refuse("openai-chat", Fault(404, f"Not found: {self.path}", "not_found"))
        else:
            names = self.server.service.scenario.models or ("scripted",)
            data = [{"id": n, "object": "model", "created": MOMENT, "owned_by": "scripted"} for n in names]
            self._send(200, {"object": "list", "data": data})

    def do_POST(self) -> None:
        """Answer a model call."""
        path = self.path.partition("?")[0].rstrip("/")
        counting = path.endswith("/count_tokens")
        path = path.removesuffix("/count_tokens")
        wire = _wire(path)
        body = self._body()
        if wire is None:
            self._refuse("openai-chat", Fault(404, f"Not found: {self.path}", "not_found"))
        elif body is None:
            self._refuse(wire, Fault(400, "the body is not a JSON object"))
        elif counting:
            counted = self.server.service.tokens(read_request(wire, body), self._headers())
            if isinstance(counted, Fault):
                self._refuse(wire, counted)
            else:
                self._send(200, {"input_tokens": counted})
        else:
            asked = read_request(wire, body)
            self._answer(asked, self.server.service.decide(asked, self._headers()))

    def _answer(self, asked: ScriptedRequest, decided: RequestDecision) -> None:
        how = "gone"
        try:
            how = self._play(asked, decided)
        except _ConnectionDrop:
            how = "cut"
            raise
        finally:
            self.server.service.log_end(decided, how)

    def _play(self, asked: ScriptedRequest, decided: RequestDecision) -> str:
        line = decided.line
        if line.delay and self.server.stopping.wait(line.delay):
            raise _ConnectionDrop
        if line.hang:
            self.server.stopping.wait(line.hang)
            raise _ConnectionDrop
        if decided.fault is not None or decided.said is None:
            self._pause(line)
            self._refuse(asked.wire, decided.fault or Fault())
            return "refused"
        speaker = _SPEAKERS[asked.wire]
        if not asked.streamed:
            self._pause(line)
            self._send(200, speaker.whole(decided.said), cut=line.cut_after)
            return "sent"
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        self._stream(line, asked.wire, line.raw or speaker.events(decided.said, asked))
        self.wfile.write(b"0\r\n\r\n")
        return "sent"

    def _stream(self, line: Line, wire: Wire, events: Iterable[str]) -> None:
        for n, event in enumerate(events):
            if n == line.wait_after:
                self._pause(line)
            if line.cut_after is not None and n >= line.cut_after:
                if line.fault is None:
                    raise _ConnectionDrop
                self._chunk(fault_event(wire, line.fault))
                return
            if n and line.pace and self.server.stopping.wait(line.pace):
                raise _ConnectionDrop
            self._chunk(event)

    def _pause(self, line: Line) -> None:
        """Wait for a file if the line says so, or until the client disconnects."""
        if line.touch:
            Path(line.touch).touch()
        while line.wait_for_file and not Path(line.wait_for_file).exists():
            if self.server.stopping.wait(_LOOK):
                raise _ConnectionDrop
            if self._is_disconnected():
                raise ConnectionError("the other side hung up")

    def _is_disconnected(self) -> bool:
        """Return True if the client has closed the connection."""
        readable, _, _ = select.select([self.connection], [], [], 0)
        return bool(readable) and not self.connection.recv(1, socket.MSG_PEEK)

    def _chunk(self, event: str) -> None:
        data = event.encode("utf-8", "replace")
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def _refuse(self, wire: Wire, fault: Fault) -> None:
        headers = {} if fault.retry_after is None else {"retry-after": f"{fault.retry_after:g}"}
        self._send(fault.status, fault_body(wire, fault), headers)

    def _send(
        self, status: int, body: Json, headers: Mapping[str, str] | None = None, cut: int | None = None
    ) -> None:
        data = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        self.send_response(status)
        for name, value in {"content-type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data if cut is None else data[:cut])
        if cut is not None and cut < len(data):
            raise _ConnectionDrop

    def _body(self) -> Mapping[str, Json] | None:
        length = self.headers.get("content-length", "")
        if not length.isdecimal() or int(length) > _LARGEST:
            self.close_connection = True  # what was sent cannot be skipped
            return None
        try:
            read: Json = json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            return None
        return cast("Mapping[str, Json]", read) if isinstance(read, dict) else None

    def _headers(self) -> Mapping[str, str]:
        return {name.lower(): value for name, value in self.headers.items()}
