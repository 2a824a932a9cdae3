"""Aborting a call from outside: the caller is woken, the connection closed, nothing retried."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import pytest

from backscroll.errors import ContextOverflow, CutShort, InvalidInput, KeyRefused, ModelBusy, Unreachable
from backscroll.llm.clients.client import Again, Client, Done, Reply, Request, StreamEvent, TextDelta
from backscroll.llm.clients.retries import Patience, stream_with_retries
from tests.testing.scripted_talk import KINDS, Kind, Line, ScriptedServer, ask, client_at

every_kind = pytest.mark.parametrize("kind", KINDS)
_CHUNKS: dict[Kind, str] = {
    "openai": 'data: {"id":"1","object":"chat.completion.chunk","created":1,"model":"m","choices":'
    '[{"index":0,"delta":{"content":"begun"},"finish_reason":null}]}\n\n',
    "openai-responses": 'event: response.output_text.delta\ndata: {"type":"response.output_text.delta",'
    '"sequence_number":1,"output_index":0,"item_id":"i","content_index":0,"delta":"begun","logprobs":[]}\n\n',
    "anthropic": 'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,'
    '"delta":{"type":"text_delta","text":"begun"}}\n\n',
}


class Hanging:
    """A service that says so much and then nothing, until the other side is gone."""

    def __init__(self, said: str | None) -> None:
        self._said = said
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/v1"
        self.waiting = threading.Event()
        self.gone = threading.Event()
        self.asked = 0
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            with connection:
                if not connection.recv(65536):
                    return  # the knock of `stop`
                self.asked += 1
                if self._said is not None:
                    data = self._said.encode()
                    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
                    connection.sendall(head + b"%x\r\n%s\r\n" % (len(data), data))
                self.waiting.set()
                while connection.recv(65536):
                    continue
                self.gone.set()

    def stop(self) -> None:
        socket.create_connection(self._listener.getsockname()).close()
        self._thread.join()
        self._listener.close()


@contextmanager
def hanging(said: str | None) -> Iterator[Hanging]:
    server = Hanging(said)
    try:
        yield server
    finally:
        server.stop()


@every_kind
def test_waiting_stream_can_be_aborted_from_another_thread(kind: Kind) -> None:
    """The blocked reader gets `CutShort` at once, and the connection is closed."""
    with hanging(_CHUNKS[kind]) as server, client_at(server.url, kind, timeout=20.0) as client:
        stream = client.stream(ask())
        assert next(stream) == TextDelta("begun")
        threading.Thread(target=client.abort).start()
        with pytest.raises(CutShort, match="was stopped"):
            next(stream)
        assert server.gone.wait(10)


@every_kind
@pytest.mark.parametrize("way", ["stream", "complete"])
def test_abort_works_before_the_first_header(kind: Kind, way: str) -> None:
    """Also before any header came."""
    with hanging(None) as server, client_at(server.url, kind, timeout=20.0) as client:

        def end() -> None:
            server.waiting.wait(10)
            client.abort()

        threading.Thread(target=end).start()
        with pytest.raises(CutShort, match="was stopped"):
            list(client.stream(ask())) if way == "stream" else client.complete(ask())
        assert server.gone.wait(10)


@every_kind
def test_closing_a_stream_early_ends_the_connection(kind: Kind) -> None:
    """`close` of the generator hangs up; the service notices."""
    with hanging(_CHUNKS[kind]) as server, client_at(server.url, kind, timeout=20.0) as client:
        stream = client.stream(ask())
        next(stream)
        stream.close()  # type: ignore[attr-defined]
        assert server.gone.wait(10)


@every_kind
def test_aborted_call_is_not_retried(kind: Kind) -> None:
    """Retries are for errors, not for users who changed their mind."""
    with hanging(_CHUNKS[kind]) as server, client_at(server.url, kind, timeout=20.0) as client:
        slept: list[float] = []
        stream = stream_with_retries(client, ask(), Patience(sleep=slept.append))
        next(stream)
        threading.Thread(target=client.abort).start()
        with pytest.raises(CutShort):
            list(stream)
        assert (slept, server.asked) == ([], 1)


@every_kind
def test_abort_between_calls_does_nothing(kind: Kind) -> None:
    """Neither before the first call nor after one; the next call works."""
    with ScriptedServer(None, Line(text="fine")) as server, client_at(server.url, kind) as client:
        client.abort()
        assert client.complete(ask()).text == "fine"
        client.abort()
        assert [e for e in client.stream(ask()) if isinstance(e, TextDelta)] == [TextDelta("fine")]


@every_kind
def test_client_works_after_an_abort(kind: Kind) -> None:
    """The next call opens a new connection."""
    lines = (Line(text="word " * 20, times=1, hang=60.0), Line(text="fine"))
    with ScriptedServer(None, *lines) as server, client_at(server.url, kind, timeout=20.0) as client:

        def end() -> None:
            while not server.asked:
                continue
            client.abort()

        threading.Thread(target=end).start()
        with pytest.raises(CutShort):
            client.complete(ask())
        assert client.complete(ask()).text == "fine"


class Playing:
    """A client that plays what it was given: events, and errors to raise."""

    wire, provider = "openai-chat", "here"

    def __init__(self, *plays: list[StreamEvent | Exception]) -> None:
        self.plays = list(plays)
        self.closed = 0

    def stream(self, request: Request) -> Iterator[StreamEvent]:
        try:
            for event in self.plays.pop(0):
                if isinstance(event, Exception):
                    raise event
                yield event
        finally:
            self.closed += 1


DONE = Done(Reply("whole", "m"))


def retried(client: Playing, **more: Any) -> Iterator[StreamEvent]:
    patience = Patience(**{"sleep": lambda _seconds: None, "chance": lambda: 1.0, **more})
    return stream_with_retries(cast("Client", client), ask(), patience)


def test_busy_service_is_waited_for() -> None:
    """Nothing has arrived yet, so nothing is dropped."""
    client = Playing([ModelBusy("slow", retry_after=3)], [Unreachable("gone")], [TextDelta("whole"), DONE])
    slept: list[float] = []
    events = list(retried(client, sleep=slept.append))
    assert events[:2] == [
        Again("slow", 1, 3.0, False, "ModelBusy"),
        Again("gone", 2, 1.0, False, "Unreachable"),
    ]
    assert events[2:] == [TextDelta("whole"), DONE]
    assert slept == [3.0, 1.0]
    assert client.closed == 3


def test_stream_without_done_is_cut_short() -> None:
    """Without `Done` there is no answer."""
    client = Playing([TextDelta("half")], [DONE])
    assert [type(e).__name__ for e in retried(client)] == ["TextDelta", "Again", "Done"]


@pytest.mark.parametrize("error", [KeyRefused("x"), ContextOverflow("x"), InvalidInput("x")])
def test_permanent_errors_are_raised_at_once(error: Exception) -> None:
    """Also an overflow, which the caller fixes."""
    client = Playing([error])
    with pytest.raises(type(error)):
        list(retried(client))
    assert client.closed == 1


def test_last_failure_is_raised_after_the_retries() -> None:
    """The last failure is raised, after so many tries."""
    client = Playing(*([TextDelta("x"), CutShort("cut")] for _ in range(3)))
    heard: list[StreamEvent] = []
    with pytest.raises(CutShort):
        heard.extend(retried(client, tries=3))
    assert client.closed == 3


def test_wait_between_retries_can_be_interrupted() -> None:
    """What the sleep raises is passed on, and nothing is sent any more."""

    def wake(_seconds: float) -> None:
        raise KeyboardInterrupt

    client = Playing([ModelBusy("slow")], [DONE])
    with pytest.raises(KeyboardInterrupt):
        list(retried(client, sleep=wake))
    assert client.closed == 1


def test_closing_early_closes_the_stream() -> None:
    """In the middle of an answer, and between two attempts."""
    client = Playing([TextDelta("a"), ModelBusy("slow")], [DONE])
    events = retried(client)
    next(events)
    events.close()  # type: ignore[attr-defined]
    assert client.closed == 1
    client = Playing([ModelBusy("slow")], [DONE])
    events = retried(client)
    assert isinstance(next(events), Again)
    events.close()  # type: ignore[attr-defined]
    assert client.closed == 1


@every_kind
def test_cut_stream_is_restarted(kind: Kind) -> None:
    """The reader is told to drop what came; the second answer is whole."""
    lines = (Line(text="one two three four five", cut_after=5, times=1), Line(text="whole"))
    with ScriptedServer(None, *lines) as server, client_at(server.url, kind) as client:
        slept: list[float] = []
        failed: list[int] = []
        events = list(
            stream_with_retries(
                client, ask(), Patience(sleep=slept.append), lambda _error, n: failed.append(n)
            )
        )
    at = next(n for n, e in enumerate(events) if isinstance(e, Again))
    again = events[at]
    assert isinstance(again, Again)
    assert (again.attempt, again.dropped, again.error, again.wait) == (1, True, "CutShort", slept[0])
    assert "".join(e.text for e in events[at:] if isinstance(e, TextDelta)) == "whole"
    assert isinstance(events[-1], Done)
    assert events[-1].reply.text == "whole"
    assert failed == [1]


@every_kind
def test_abort_while_connecting_closes_the_new_connection(
    kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An abort before there is a connection closes it as soon as it is made."""
    from backscroll.llm.clients.connections import Connections

    with hanging(None) as server, client_at(server.url, kind, timeout=20.0) as client:
        hear = Connections._track_socket

        def heard(self: Connections, name: str, info: dict[str, object]) -> None:
            if name.endswith("connect_tcp.started"):
                client.abort()
            hear(self, name, info)

        monkeypatch.setattr(Connections, "_track_socket", heard)
        with pytest.raises(CutShort, match="was stopped"):
            list(client.stream(ask()))
    assert server.asked == 0


@every_kind
def test_abort_works_on_a_reused_connection(kind: Kind) -> None:
    """The second call of a client is aborted like its first."""
    lines = (Line(text="fine", times=1), Line(hang=60.0))
    with ScriptedServer(None, *lines) as server, client_at(server.url, kind, timeout=20.0) as client:
        assert client.complete(ask()).text == "fine"

        def end() -> None:
            while len(server.asked) < 2:
                continue
            client.abort()

        threading.Thread(target=end).start()
        with pytest.raises(CutShort, match="was stopped"):
            list(client.stream(ask()))
