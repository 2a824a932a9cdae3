"""Wrapped clients: two lines give an existing program a memory; real SDKs, a scripted service over HTTP."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from anthropic import Anthropic, AsyncAnthropic
from openai import APIStatusError, AsyncOpenAI, OpenAI

import backscroll
from backscroll.engine.budget.costs import calls
from backscroll.engine.thread import Thread
from backscroll.errors import InvalidInput
from backscroll.testing import Line, Scenario, ScriptedServer
from backscroll.testing.scenario import Fault, ScriptedCall
from backscroll.vocab.event import Kind


@pytest.fixture
def thread(tmp_path: Path) -> Iterator[Thread]:
    with backscroll.open(tmp_path / "s.db", background=False) as engine:
        yield engine.create("a program")


def serving(*answers: Line | str) -> ScriptedServer:
    lines = [Line(text=a, times=1) if isinstance(a, str) else a for a in answers]
    return ScriptedServer(Scenario(lines=tuple(lines), binding=True))


def openai(server: ScriptedServer) -> OpenAI:
    return OpenAI(base_url=server.url, api_key="sk-planted-0001", max_retries=0)


def anthropic(server: ScriptedServer) -> Anthropic:
    return Anthropic(base_url=server.url.removesuffix("/v1"), api_key="sk-planted-0001", max_retries=0)


def told(thread: Thread) -> list[tuple[str, str]]:
    return [(m.role, m.text) for m in thread.messages()]


def test_chat_program_is_recorded_once(thread: Thread) -> None:
    """It appends the SDK's message object to its list and sends it all again: three turns, no duplicates."""
    with serving("one", "two", "three") as server, openai(server) as plain:
        client = backscroll.wrap(plain, thread=thread)
        messages: list[Any] = [{"role": "system", "content": "be brief"}]
        for n in range(3):
            messages.append({"role": "user", "content": f"question {n}"})
            answer = client.chat.completions.create(model="gpt-4o", messages=messages)
            messages.append(answer.choices[0].message)
        assert told(thread) == [
            ("system", "be brief"),
            ("user", "question 0"), ("assistant", "one"),
            ("user", "question 1"), ("assistant", "two"),
            ("user", "question 2"), ("assistant", "three"),
        ]  # fmt: skip
        spent = list(calls(thread.engine))
        assert len(spent) == 3
        assert all(c.input > 0 and c.nano and c.purpose == "answer" for c in spent)
        assert isinstance(client, OpenAI)
        assert "sk-planted" not in str(told(thread))


def test_streams_are_recorded_when_they_end(thread: Thread) -> None:
    with serving(Line(text="a streamed answer", chunk=3, times=1)) as server, openai(server) as plain:
        client = backscroll.wrap(plain, thread=thread)
        asked: Any = [{"role": "user", "content": "go"}]
        pieces = client.chat.completions.create(
            model="gpt-4o", messages=asked, stream=True, stream_options={"include_usage": True}
        )
        text = "".join(c.choices[0].delta.content or "" for c in pieces if c.choices)
        assert text == "a streamed answer"
        assert told(thread)[-1] == ("assistant", "a streamed answer")
        assert not next(iter(calls(thread.engine))).estimated


def test_abandoned_stream_keeps_what_came(thread: Thread) -> None:
    with serving(Line(text="word " * 50, chunk=5, times=1)) as server, openai(server) as plain:
        client = backscroll.wrap(plain, thread=thread)
        asked: Any = [{"role": "user", "content": "go"}]
        with client.chat.completions.create(model="gpt-4o", messages=asked, stream=True) as stream:
            for number, _ in enumerate(stream):
                if number == 4:
                    break
        last = thread.recent(1)[0]
        assert last.content.metadata["act"]["interrupted"]
        assert 0 < len(last.text) < 250


def test_tool_calls_are_recorded(thread: Thread) -> None:
    """A call, its result, an answer: the prompt made of them is valid on every wire."""
    tools: Any = [
        {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}
    ]
    with (
        serving(Line(calls=(ScriptedCall("look", {"at": "x"}),), times=1), "a tree") as server,
        openai(server) as plain,
    ):
        client = backscroll.wrap(plain, thread=thread)
        messages: list[Any] = [{"role": "user", "content": "what is there?"}]
        first = client.chat.completions.create(model="gpt-4o", messages=messages, tools=tools)
        made = first.choices[0].message
        assert made.tool_calls
        messages += [made, {"role": "tool", "tool_call_id": made.tool_calls[0].id, "content": "bark, leaves"}]
        client.chat.completions.create(model="gpt-4o", messages=messages, tools=tools)
        assert [r for r, _ in told(thread)] == ["user", "assistant", "tool", "assistant"]
        assert thread.operations(5)[0].tool_name == "look"


@pytest.mark.parametrize("assemble", [False, True])
def test_tool_calls_are_recorded_on_the_other_wires(thread: Thread, assemble: bool) -> None:
    """Two calls with their reasoning, on Responses and Anthropic: once in the thread, valid when resent."""
    look = ScriptedCall("look", {"at": "x"})
    asking = Line(calls=(look, look), reasoning="hm", times=1)
    with (
        serving(asking, "a tree", asking, "two trees") as server,
        openai(server) as plain,
        anthropic(server) as other,
    ):
        client = backscroll.wrap(plain, thread=thread, assemble=assemble, budget=9_000, strict=True)
        offered: Any = [
            {"type": "function", "name": "look", "parameters": {"type": "object", "properties": {}}}
        ]
        items: list[Any] = [{"role": "user", "content": "what is there?"}]
        first = client.responses.create(model="gpt-4o", input=items, tools=offered)
        items += first.output
        calls_made = [i.call_id for i in first.output if i.type == "function_call"]
        items += [{"type": "function_call_output", "call_id": c, "output": "bark"} for c in calls_made]
        assert client.responses.create(model="gpt-4o", input=items, tools=offered).output_text == "a tree"
        turn = ["user", *["assistant"] * 3, "tool", "tool", "assistant"]
        assert [r for r, _ in told(thread)] == turn

        claude = backscroll.wrap(other, thread=thread, assemble=assemble, budget=9_000, strict=True)
        more: Any = [{"name": "look", "input_schema": {"type": "object", "properties": {}}}]
        messages: list[Any] = [{"role": "user", "content": "and there?"}]
        said = claude.messages.create(
            model="claude-sonnet-5-5", max_tokens=99, messages=messages, tools=more
        ).content
        results = [
            {"type": "tool_result", "tool_use_id": b.id, "content": "bark"}
            for b in said
            if b.type == "tool_use"
        ]
        messages += [{"role": "assistant", "content": said}, {"role": "user", "content": results}]
        claude.messages.create(model="claude-sonnet-5-5", max_tokens=99, messages=messages, tools=more)
        assert [r for r, _ in told(thread)] == [*turn, "user", "assistant", "tool", "tool", "assistant"]
        assert server.flaws == []


def test_regenerated_answer_is_an_alternative(thread: Thread) -> None:
    with serving("first", "second") as server, openai(server) as plain:
        client = backscroll.wrap(plain, thread=thread)
        asked: Any = [{"role": "user", "content": "go"}]
        client.chat.completions.create(model="gpt-4o", messages=asked)
        client.chat.completions.create(model="gpt-4o", messages=asked)
        assert told(thread) == [("user", "go"), ("assistant", "second")]
        assert thread.recent(1)[0].alternatives == 2
        assert len(list(calls(thread.engine))) == 2


@pytest.mark.parametrize(
    "second", ["second", Line(calls=(ScriptedCall("look", {"at": "y"}),), reasoning="hm", times=1)]
)
@pytest.mark.parametrize(
    "first", ["first", Line(calls=(ScriptedCall("look", {"at": "x"}),), reasoning="hm", times=1)]
)
def test_regenerated_answer_is_not_in_the_prompt(
    thread: Thread, first: str | Line, second: str | Line
) -> None:
    """With calls or without: the model gets the very same request."""
    with serving(first, second, "third") as server, anthropic(server) as plain:
        claude = backscroll.wrap(plain, thread=thread, assemble=True, budget=9_000, strict=True)
        asked: Any = [{"role": "user", "content": "what is there?"}]
        given: Any = {"model": "claude-sonnet-5-5", "max_tokens": 99, "messages": asked, "tools": [LOOKS]}
        claude.messages.create(**given)
        said = claude.messages.create(**given).content
        assert server.asked[1].body["messages"] == server.asked[0].body["messages"]
        assert [role for role, _ in told(thread)] == ["user", "assistant"]
        results = [
            {"type": "tool_result", "tool_use_id": b.id, "content": "a tree"}
            for b in said
            if b.type == "tool_use"
        ]
        asked += [{"role": "assistant", "content": said}, {"role": "user", "content": results or "go on"}]
        claude.messages.create(**given)
        assert server.flaws == []
        sent = server.asked[2].everything
        assert "(continue)" not in sent
        assert "first" not in sent


def test_responses_calls_are_recorded(thread: Thread) -> None:
    with (
        serving("one", Line(text="two, streamed", chunk=4, times=1), "three") as server,
        openai(server) as plain,
    ):
        client = backscroll.wrap(plain, thread=thread)
        first = client.responses.create(model="gpt-4o", input="hello", instructions="be brief")
        for _ in client.responses.create(
            model="gpt-4o", input="go on", instructions="be brief", previous_response_id=first.id, stream=True
        ):
            pass
        whole: Any = [{"role": r, "content": t} for r, t in told(thread)[1:]]
        whole.append({"role": "user", "content": "and then?"})
        with client.responses.stream(model="gpt-4o", input=whole, instructions="be brief") as events:
            for _ in events:
                pass
            assert events.get_final_response().output_text == "three"
        assert told(thread) == [
            ("system", "be brief"), ("user", "hello"), ("assistant", "one"), ("user", "go on"),
            ("assistant", "two, streamed"), ("user", "and then?"), ("assistant", "three"),
        ]  # fmt: skip


def test_anthropic_calls_are_recorded(thread: Thread) -> None:
    with (
        serving("one", Line(text="two, streamed", chunk=4, times=1), "three") as server,
        anthropic(server) as plain,
    ):
        client = backscroll.wrap(plain, thread=thread)
        messages: list[Any] = [{"role": "user", "content": "hello"}]
        answer = client.messages.create(
            model="claude-sonnet-5-5", max_tokens=100, system="be brief", messages=messages
        )
        messages += [{"role": "assistant", "content": answer.content}, {"role": "user", "content": "go on"}]
        with client.messages.stream(
            model="claude-sonnet-5-5", max_tokens=100, system="be brief", messages=messages
        ) as stream:
            assert "".join(stream.text_stream) == "two, streamed"
        messages += [{"role": "assistant", "content": "two, streamed"}, {"role": "user", "content": "more"}]
        for _ in client.messages.create(
            model="claude-sonnet-5-5", max_tokens=100, system="be brief", messages=messages, stream=True
        ):
            pass
        assert [t for r, t in told(thread) if r == "assistant"] == ["one", "two, streamed", "three"]
        assert len([r for r, _ in told(thread) if r == "user"]) == 3
        assert len(list(calls(thread.engine))) == 3


def test_managed_streams_and_beta_calls_are_recorded(thread: Thread) -> None:
    """The `stream()` of chat, and the same calls under `beta`."""
    with (
        serving(
            Line(text="one, streamed", chunk=3, times=1), "two", Line(text="three", chunk=2, times=1)
        ) as server,
        openai(server) as plain,
        anthropic(server) as other,
    ):
        client, claude = backscroll.wrap(plain, thread=thread), backscroll.wrap(other, thread=thread)
        messages: list[Any] = [{"role": "user", "content": "1?"}]
        # Older SDKs have it under `beta` only.
        chat: Any = client.chat if hasattr(plain.chat.completions, "stream") else client.beta.chat
        with chat.completions.stream(model="gpt-4o", messages=messages) as stream:
            for _ in stream:
                pass
            said = stream.get_final_completion().choices[0].message.content
        assert said == "one, streamed"
        messages += [{"role": "assistant", "content": said}, {"role": "user", "content": "2?"}]
        answer = claude.beta.messages.create(model="claude-sonnet-5-5", max_tokens=50, messages=messages)
        messages += [{"role": "assistant", "content": answer.content}, {"role": "user", "content": "3?"}]
        with claude.beta.messages.stream(
            model="claude-sonnet-5-5", max_tokens=50, messages=messages
        ) as events:
            assert events.get_final_message().content[0].type == "text"
        assert [t for _, t in told(thread)] == ["1?", "one, streamed", "2?", "two", "3?", "three"]
        assert len(list(calls(thread.engine))) == 3


def test_asynchronous_clients_are_recorded(thread: Thread) -> None:
    async def work(server: ScriptedServer) -> None:
        async with AsyncOpenAI(base_url=server.url, api_key="k", max_retries=0) as plain:
            client = backscroll.wrap(plain, thread=thread)
            asked: Any = [{"role": "user", "content": "one?"}]
            answer = await client.chat.completions.create(model="gpt-4o", messages=asked)
            asked += [answer.choices[0].message, {"role": "user", "content": "two?"}]
            stream = await client.chat.completions.create(model="gpt-4o", messages=asked, stream=True)
            assert "".join([c.choices[0].delta.content or "" async for c in stream if c.choices]) == "two"
        async with AsyncAnthropic(
            base_url=server.url.removesuffix("/v1"), api_key="k", max_retries=0
        ) as other:
            claude = backscroll.wrap(other, thread=thread)
            asked = [{"role": "user", "content": "one?"}, {"role": "assistant", "content": "one"}]
            asked += [{"role": "user", "content": "two?"}, {"role": "assistant", "content": "two"}]
            asked += [{"role": "user", "content": "three?"}]
            async with claude.messages.stream(
                model="claude-sonnet-5-5", max_tokens=50, messages=asked
            ) as events:
                assert await events.get_final_text() == "three"

    with serving("one", Line(text="two", chunk=2, times=1), "three") as server:
        asyncio.run(work(server))
    assert [t for r, t in told(thread) if r == "assistant"] == ["one", "two", "three"]
    assert len(told(thread)) == 6


def test_endless_list_stays_within_its_budget(thread: Thread) -> None:
    """With `assemble`, however long the program's list has become."""
    with serving(Line(text="ok")) as server, openai(server) as plain:
        client = backscroll.wrap(plain, thread=thread, assemble=True, budget=6_000)
        messages: list[Any] = [{"role": "system", "content": "You are a gardener."}]
        for n in range(30):
            messages.append(
                {"role": "user", "content": f"Fact {n}: tree {n} is {n * 3} years old. " + "words " * 150}
            )
            answer = client.chat.completions.create(model="gpt-4o", messages=messages, max_tokens=500)
            messages.append({"role": "assistant", "content": answer.choices[0].message.content})
        sent = server.asked[-1].everything
        assert len(sent) < 6_000 * 5
        assert "You are a gardener." in sent
        assert "tree 29" in sent
        assert len([1 for r, _ in told(thread) if r == "user"]) == 30


HANDLE = re.compile(r"\[bs:")
OPENS: Any = {"name": "expand", "input_schema": {"type": "object", "properties": {}}}
LOOKS: Any = {"name": "look", "input_schema": {"type": "object", "properties": {}}}


@pytest.mark.parametrize("offered", [[LOOKS], [LOOKS, OPENS]])
def test_handles_are_sent_only_to_a_model_that_can_expand_them(thread: Thread, offered: list[Any]) -> None:
    """A long program with tools and thinking, condensed repeatedly: a strict service refuses nothing.

    If the model cannot call expand, no prompt tells it to.
    """
    asking = Line(calls=(ScriptedCall("look", {"at": "x"}),), reasoning="hm", role="user")
    with serving(asking, Line(text="done", role="tool")) as server, anthropic(server) as plain:
        claude = backscroll.wrap(plain, thread=thread, assemble=True, budget=6_000, strict=True)
        messages: list[Any] = []
        for n in range(12):
            messages.append({"role": "user", "content": f"Question {n}: what stands at place {n}?"})
            said = claude.messages.create(
                model="claude-sonnet-5-5", max_tokens=99, messages=messages, tools=offered
            ).content
            told_back = "\n".join(f"place {n}, tree {i}: {i * 7} years" for i in range(60))
            results = [
                {"type": "tool_result", "tool_use_id": b.id, "content": told_back}
                for b in said
                if b.type == "tool_use"
            ]
            assert results
            messages += [{"role": "assistant", "content": said}, {"role": "user", "content": results}]
            last = claude.messages.create(
                model="claude-sonnet-5-5", max_tokens=99, messages=messages, tools=offered
            )
            messages.append({"role": "assistant", "content": last.content})
        assert server.flaws == []
        sent = [asked.everything for asked in server.asked]
    assert any(e.kind is Kind.COMPACTED for e in thread.events())
    assert any(HANDLE.search(each) for each in sent) == (OPENS in offered)
    if OPENS not in offered:
        assert not any("expand" in each for each in sent)


def test_short_conversation_is_sent_unchanged(thread: Thread) -> None:
    """Three messages with a tool call: no list of operations, no handle."""
    look = Line(calls=(ScriptedCall("look", {"at": "x"}),), times=1)
    tools: Any = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]
    with serving(look, "a tree") as server, openai(server) as plain:
        client = backscroll.wrap(plain, thread=thread, assemble=True, budget=9_000, strict=True)
        messages: list[Any] = [{"role": "user", "content": "what is there?"}]
        first = client.chat.completions.create(model="gpt-4o", messages=messages, tools=tools)
        call = (first.choices[0].message.tool_calls or [])[0]
        messages += [first.choices[0].message, {"role": "tool", "tool_call_id": call.id, "content": "bark"}]
        client.chat.completions.create(model="gpt-4o", messages=messages, tools=tools)
        assert [role for role, _ in server.asked[-1].said] == ["user", "assistant", "tool"]
        assert "bs:" not in server.asked[-1].everything
        assert "operations" not in server.asked[-1].everything


def test_service_errors_reach_the_program(thread: Thread) -> None:
    with serving(Line(fault=Fault(500, "broken"), times=1)) as server, openai(server) as plain:
        client = backscroll.wrap(plain, thread=thread)
        with pytest.raises(APIStatusError):
            client.chat.completions.create(model="gpt-4o", messages=[{"role": "user", "content": "go"}])
        assert [c.purpose for c in calls(thread.engine)] == ["failed"]
        assert told(thread) == [("user", "go")]


def test_internal_error_does_not_break_the_program(thread: Thread, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr("backscroll.engine.calls.capture.overhear", broken)
    with serving("still here", "again") as server, openai(server) as plain:
        asked: Any = [{"role": "user", "content": "go"}]
        client = backscroll.wrap(plain, thread=thread)
        with pytest.warns(RuntimeWarning, match="the disk is full"):
            answer = client.chat.completions.create(model="gpt-4o", messages=asked)
        assert answer.choices[0].message.content == "still here"
        strict = backscroll.wrap(plain, thread=thread, strict=True)
        with pytest.raises(OSError, match="disk"):
            strict.chat.completions.create(model="gpt-4o", messages=asked)


def test_thread_can_be_given_by_title(tmp_path: Path) -> None:
    store = tmp_path / "t.db"
    with serving("one", "two") as server:
        for n in range(2):
            with backscroll.wrap(openai(server), thread="my program", store=store) as client:
                client.with_options(timeout=30).chat.completions.create(
                    model="gpt-4o", messages=[{"role": "user", "content": f"hello {n}"}]
                )
    with backscroll.open(store, background=False) as engine:
        assert [i.title for i in engine.threads()] == ["my program"]


def test_unknown_object_cannot_be_wrapped(thread: Thread) -> None:
    with pytest.raises(InvalidInput, match="cannot wrap"):
        backscroll.wrap(object(), thread=thread)
