"""Raw responses of wrapped clients are recorded however they are read; unrecorded calls warn once."""

from __future__ import annotations

import asyncio
import json
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from anthropic import Anthropic, AsyncAnthropic
from openai import APIStatusError, AsyncOpenAI, OpenAI

import backscroll
from backscroll.engine.budget.costs import FAILED, calls
from backscroll.engine.thread import Thread
from backscroll.testing import Line, Scenario, ScriptedServer
from backscroll.testing.scenario import Fault

_ASKED: Any = [{"role": "user", "content": "go"}]
_SAID = [("user", "go"), ("assistant", "a raw answer")]


@pytest.fixture
def thread(tmp_path: Path) -> Iterator[Thread]:
    with backscroll.open(tmp_path / "s.db", background=False) as engine:
        yield engine.create("a program")


def serving(*lines: Line) -> ScriptedServer:
    return ScriptedServer(Scenario(lines=lines or (Line(text="a raw answer", chunk=3),)))


def openai(server: ScriptedServer) -> OpenAI:
    return OpenAI(base_url=server.url, api_key="-", max_retries=0)


def anthropic(server: ScriptedServer) -> Anthropic:
    return Anthropic(base_url=server.url.removesuffix("/v1"), api_key="-", max_retries=0)


def told(thread: Thread) -> list[tuple[str, str]]:
    return [(m.role, m.text) for m in thread.messages()]


def spent_exactly(thread: Thread, number: int = 1) -> None:
    """So many calls are on the ledger, with what the service reported."""
    charges = list(calls(thread.engine))
    assert len(charges) == number
    assert all(c.input > 0 and c.output > 0 and not c.estimated for c in charges)


def test_raw_responses_are_recorded_on_each_wire(thread: Thread) -> None:
    """The program gets headers and body unchanged; the thread gets the answer and its price."""
    with serving() as server, openai(server) as plain, anthropic(server) as other:
        client = backscroll.wrap(plain, thread=thread)
        raw = client.chat.completions.with_raw_response.create(model="gpt-4o", messages=_ASKED)
        assert raw.headers["content-type"].startswith("application/json")
        assert raw.parse().choices[0].message.content == "a raw answer"
        assert told(thread) == _SAID
        client.responses.with_raw_response.create(model="gpt-4o", input="again")
        backscroll.wrap(other, thread=thread).messages.with_raw_response.create(
            model="claude = backscroll.wrap(other, thread=thread, assemble=assemble, budget=9_000, strict=True)",
            max_tokens=100,
            messages=[{"role": "user", "content": "once more"}],
        )
        assert [text for role, text in told(thread) if role == "assistant"] == ["a raw answer"] * 3
        spent_exactly(thread, 3)


def test_raw_access_works_at_any_level(thread: Thread) -> None:
    """At the client, at a resource, or at the call itself."""
    with serving() as server, openai(server) as plain:
        client = backscroll.wrap(plain, thread=thread)
        client.with_raw_response.chat.completions.create(model="gpt-4o", messages=_ASKED)
        assert told(thread) == _SAID
        client.chat.with_raw_response.completions.create(
            model="gpt-4o", messages=[{"role": "user", "content": "more"}]
        )
        assert told(thread)[-1] == ("assistant", "a raw answer")


def test_streamed_raw_response_is_recorded(thread: Thread) -> None:
    """The program gets the events, and the answer is recorded when they are read."""
    with serving() as server, openai(server) as plain:
        client = backscroll.wrap(plain, thread=thread)
        raw = client.chat.completions.with_raw_response.create(
            model="gpt-4o", messages=_ASKED, stream=True, stream_options={"include_usage": True}
        )
        assert told(thread) == _SAID[:1]
        stream: Any = raw.parse()
        assert "".join(c.choices[0].delta.content or "" for c in stream if c.choices) == "a raw answer"
        assert told(thread) == _SAID
        spent_exactly(thread)


_WAYS: dict[str, Callable[[Any], object]] = {
    "parsed": lambda response: response.parse(),
    "json": lambda response: response.json(),
    "read": lambda response: response.read(),
    "lines": lambda response: list(response.iter_lines()),
    "bytes": lambda response: list(response.iter_bytes(7)),
}


@pytest.mark.parametrize("way", _WAYS)
def test_raw_response_is_recorded_however_it_is_read(thread: Thread, way: str) -> None:
    """Parsed, as JSON, as text, line by line, byte by byte: once."""
    with serving() as server, openai(server) as plain:
        client = backscroll.wrap(plain, thread=thread)
        with client.chat.completions.with_streaming_response.create(
            model="gpt-4o", messages=_ASKED
        ) as response:
            assert response.status_code == 200
            assert _WAYS[way](response)
        assert told(thread) == _SAID
        spent_exactly(thread)


@pytest.mark.parametrize("wire", ["openai-chat", "openai-responses", "anthropic"])
def test_server_sent_events_read_as_lines_are_recorded(thread: Thread, wire: str) -> None:
    """On every wire."""
    with serving() as server, openai(server) as plain, anthropic(server) as other:
        client, claude = backscroll.wrap(plain, thread=thread), backscroll.wrap(other, thread=thread)
        usage: Any = {"include_usage": True}
        made: Any = {
            "openai-chat": lambda: client.chat.completions.with_streaming_response.create(
                model="gpt-4o", messages=_ASKED, stream=True, stream_options=usage
            ),
            "openai-responses": lambda: client.responses.with_streaming_response.create(
                model="gpt-4o", input="go", stream=True
            ),
            "anthropic": lambda: claude.messages.with_streaming_response.create(
                model="claude = backscroll.wrap(other, thread=thread, assemble=assemble, budget=9_000, strict=True)",
                max_tokens=100,
                messages=_ASKED,
                stream=True,
            ),
        }[wire]
        with made() as response:
            lines = [line for line in response.iter_lines() if line.startswith("data:")]
        assert len(lines) > 2
        assert told(thread) == _SAID
        spent_exactly(thread)


def test_abandoned_raw_response_keeps_what_came(thread: Thread) -> None:
    """Events so far, marked as cut; an unread one is a call without an answer."""
    with serving(Line(text="word " * 50, chunk=5)) as server, openai(server) as plain:
        client = backscroll.wrap(plain, thread=thread)
        with client.chat.completions.with_streaming_response.create(
            model="gpt-4o", messages=_ASKED, stream=True
        ) as response:
            for number, _ in enumerate(response.iter_lines()):
                if number == 12:
                    break
        last = thread.recent(1)[0]
        assert last.content.metadata["act"]["interrupted"]
        assert 0 < len(last.text) < 250
        with client.chat.completions.with_streaming_response.create(model="gpt-4o", messages=_ASKED):
            pass
        assert [c.purpose for c in calls(thread.engine)].count(FAILED) == 1


def test_asynchronous_raw_responses_are_recorded(thread: Thread) -> None:
    """For both vendors."""

    async def talk(server: ScriptedServer) -> None:
        base = server.url.removesuffix("/v1")
        async with AsyncOpenAI(base_url=server.url, api_key="-", max_retries=0) as plain:
            client = backscroll.wrap(plain, thread=thread)
            raw = await client.chat.completions.with_raw_response.create(model="gpt-4o", messages=_ASKED)
            assert json.loads(raw.text)["choices"]
            assert told(thread) == _SAID
            async with client.responses.with_streaming_response.create(
                model="gpt-4o", input="two", stream=True
            ) as response:
                async for _ in response.iter_lines():
                    pass
        async with AsyncAnthropic(base_url=base, api_key="-", max_retries=0) as other:
            claude = backscroll.wrap(other, thread=thread)
            async with claude.messages.with_streaming_response.create(
                model="claude = backscroll.wrap(other, thread=thread, assemble=assemble, budget=9_000, strict=True)",
                max_tokens=100,
                messages=[{"role": "user", "content": "three"}],
            ) as response:
                await response.parse()

    with serving() as server:
        asyncio.run(talk(server))
    assert [text for role, text in told(thread) if role == "assistant"] == ["a raw answer"] * 3
    spent_exactly(thread, 3)


def test_errors_are_raised_unchanged(thread: Thread) -> None:
    """The ledger has a call without an answer."""
    refusal = Line(fault=Fault(status=400))
    with serving(refusal) as server, openai(server) as plain:
        client = backscroll.wrap(plain, thread=thread)
        with pytest.raises(APIStatusError):
            client.chat.completions.with_raw_response.create(model="gpt-4o", messages=_ASKED)
        with (
            pytest.raises(APIStatusError),
            client.chat.completions.with_streaming_response.create(model="gpt-4o", messages=_ASKED),
        ):
            pass
    assert [c.purpose for c in calls(thread.engine)] == [FAILED, FAILED]


def test_unrecorded_calls_warn_once(thread: Thread) -> None:
    """Batches, for example; calls that use no model say nothing."""
    with serving() as server, openai(server) as plain, anthropic(server) as other:
        client, claude = backscroll.wrap(plain, thread=thread), backscroll.wrap(other, thread=thread)
        with pytest.warns(RuntimeWarning, match="does not record calls through batches") as seen:
            assert client.batches is not None
        assert seen[0].filename == __file__
        with pytest.warns(RuntimeWarning, match="messages.batches"):
            assert claude.messages.batches is not None
        if hasattr(other.beta.messages, "tool_runner"):  # older SDKs do not
            with pytest.warns(RuntimeWarning, match="beta.messages.tool_runner"):
                assert claude.beta.messages.tool_runner is not None
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert client.batches is not None  # told already
            assert client.models is not None
            assert client.files is not None
            assert claude.messages.count_tokens is not None
