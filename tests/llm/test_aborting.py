"""Ending a call from outside: the one who waits is woken, the connection is closed, nothing is asked again."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from backscroll.errors import CutShort
from backscroll.llm.client import Again, Done, Request, StreamEvent, TextDelta
from backscroll.llm.retrying import Patience, stream_with_retries
from tests.llm.scripted_talk import KINDS, Kind, Line, ScriptedServer, ask, client_at

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
def test_a_stream_that_waits_is_ended_from_another_thread(kind: Kind) -> None:
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
def test_waiting_for_the_first_word_is_ended_too(kind: Kind, way: str) -> None:
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
def test_a_stream_that_is_closed_early_hangs_up(kind: Kind) -> None:
    """`close` of the generator ends the connection; the service notices."""
    with hanging(_CHUNKS[kind]) as server, client_at(server.url, kind, timeout=20.0) as client:
        stream = client.stream(ask())
        next(stream)
        stream.close()  # type: ignore[attr-defined]
        assert server.gone.wait(10)


@every_kind
def test_what_was_stopped_is_not_asked_again(kind: Kind) -> None:
    """Retries are for faults, not for people who changed their mind."""
    with hanging(_CHUNKS[kind]) as server, client_at(server.url, kind, timeout=20.0) as client:
        slept: list[float] = []
        stream = stream_with_retries(client, ask(), Patience(sleep=slept.append))
        next(stream)
        threading.Thread(target=client.abort).start()
        with pytest.raises(CutShort):
            list(stream)
        assert (slept, server.asked) == ([], 1)


@every_kind
def test_in_between_calls_it_does_nothing(kind: Kind) -> None:
    """Neither before the first call nor after one; the next call works."""
    with ScriptedServer(None, Line(text="fine")) as server, client_at(server.url, kind) as client:
        client.abort()
        assert client.complete(ask()).text == "fine"
        client.abort()
        assert [e for e in client.stream(ask()) if isinstance(e, TextDelta)] == [TextDelta("fine")]


@every_kind
def test_a_client_works_on_after_an_abort(kind: Kind) -> None:
    """The next call makes a connection of its own."""
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


@every_kind
def test_a_cut_stream_begins_anew(kind: Kind) -> None:
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
