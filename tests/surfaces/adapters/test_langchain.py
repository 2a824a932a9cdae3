"""LangChain: a message history and middleware, with real agents against a scripted service over HTTP."""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    AnyMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langgraph.checkpoint.memory import InMemorySaver
from openai import InternalServerError

import backscroll
from backscroll.engine.budget.costs import calls
from backscroll.engine.calls.capture import messages_in
from backscroll.engine.thread import Thread
from backscroll.errors import InvalidInput
from backscroll.surfaces.adapters.langchain import BackscrollChatMessageHistory, BackscrollMiddleware
from backscroll.surfaces.adapters.langchain_messages import parse_message, render_messages
from backscroll.testing import Line, Scenario, ScriptedServer
from backscroll.testing.scenario import Fault, ScriptedCall
from tests.house import tree

_SPEC = importlib.util.spec_from_file_location(
    "langchain_agent", tree.ROOT / "examples" / "langchain_agent.py"
)
assert _SPEC is not None
assert _SPEC.loader is not None
example: Any = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(example)

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


@pytest.fixture
def thread(tmp_path: Path) -> Iterator[Thread]:
    with backscroll.open(tmp_path / "s.db", background=False) as engine:
        yield engine.create("an agent")


def roles(thread: Thread) -> list[str]:
    return [m.role for m in thread.messages()]


def agent_of(server: ScriptedServer, thread: Thread, **how: Any) -> Any:
    keeper = how.pop("checkpointer", None)
    return create_agent(
        example.SmallChat(base_url=server.url),
        tools=[example.look],
        system_prompt="You are a gardener.",
        middleware=[BackscrollMiddleware(thread, strict=True, **how)],
        checkpointer=keeper,
    )


def asked(text: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}]}


LOOK = Line(calls=(ScriptedCall("look", {"at": "pond"}),), times=1)
MESSAGES: list[AnyMessage] = [
    SystemMessage("be brief"),
    HumanMessage("你好", name="ann", id="h1"),
    HumanMessage([{"type": "text", "text": "see", "cache_control": {"type": "ephemeral"}}, "and hear"]),
    HumanMessage([{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}", "detail": "low"}}]),
    HumanMessage([{"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}]),
    HumanMessage([{"type": "image", "base64": PIXEL, "mime_type": "image/png"}]),
    HumanMessage([{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}]),
    HumanMessage([{"type": "image", "source_type": "base64", "data": PIXEL, "mime_type": "image/png"}]),
    HumanMessage([{"type": "of_next_year", "what": [1, 2]}], additional_kwargs={"a": {"b": None}}),
    AIMessage("hi", id="run-1", response_metadata={"model_name": "m"},
              usage_metadata={"input_tokens": 3, "output_tokens": 1, "total_tokens": 4}),
    AIMessage("", tool_calls=[{"id": "c1", "name": "look", "args": {"at": "池塘"}, "type": "tool_call"},
                              {"id": "c2", "name": "look", "args": {}, "type": "tool_call"}]),
    AIMessage([{"type": "thinking", "thinking": "hm", "signature": "sealed"}, {"type": "text", "text": "I look."},
               {"type": "tool_use", "id": "c3", "name": "look", "input": {"at": "x"}}],
              tool_calls=[{"id": "c3", "name": "look", "args": {"at": "x"}, "type": "tool_call"}]),
    AIMessage("", invalid_tool_calls=[{"id": "c4", "name": "look", "args": "{", "error": "no JSON", "type": "invalid_tool_call"}]),
    AIMessage([]),
    ToolMessage("bark", tool_call_id="c1", name="look", artifact={"raw": [1]}),
    ToolMessage([{"type": "text", "text": "broken"}], tool_call_id="c2", status="error"),
    FunctionMessage(content="old", name="look"),
    ChatMessage(content="words", role="narrator"),
]  # fmt: skip


def test_messages_round_trip(thread: Thread) -> None:
    """Every kind, with its blocks, ids, usage and status, equals the original; pictures are stored as bytes, once."""
    history = BackscrollChatMessageHistory(thread)
    history.add_messages(MESSAGES)
    assert [m.model_dump() for m in history.messages] == [m.model_dump() for m in MESSAGES]
    pictures = [m for m in thread.messages() if any(isinstance(p, backscroll.Media) for p in m.parts)]
    assert len(pictures) == 5
    assert PIXEL not in str([(m.parts, m.content.metadata) for m in pictures])


def test_answers_in_a_history_are_on_the_ledger(thread: Thread) -> None:
    """Reported usage is counted once, missing usage is not; `ledger=False` counts nothing."""
    history = BackscrollChatMessageHistory(thread)
    history.add_messages(MESSAGES)
    assert [(c.model, c.input, c.output, c.purpose) for c in calls(thread.engine)] == [("m", 3, 1, "answer")]
    BackscrollChatMessageHistory(thread, ledger=False).add_messages(MESSAGES)
    assert len(list(calls(thread.engine))) == 1


TEXTS = st.text(max_size=20)
JSONS = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=4,
)
BLOCKS = st.one_of(
    TEXTS,
    st.builds(lambda t, more: {**more, "type": "text", "text": t}, TEXTS, st.dictionaries(TEXTS, JSONS)),
    st.builds(lambda k, more: {**more, "type": k}, st.sampled_from(["thinking", "image", "tool_use", "x"]),
              st.dictionaries(st.sampled_from(["id", "data", "base64", "url", "thinking", "mime_type", "source"]), JSONS)),
)  # fmt: skip
CONTENTS = TEXTS | st.lists(BLOCKS, max_size=3)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(CONTENTS, st.sampled_from([HumanMessage, SystemMessage, AIMessage]), st.dictionaries(TEXTS, JSONS))
def test_any_message_is_the_same_after_both_ways(content: Any, kind: Any, more: Any) -> None:
    message = kind(content=content, additional_kwargs=more)
    (back,) = render_messages(parse_message(message), lambda _: None)
    assert back.model_dump() == message.model_dump()


def test_stream_chunks_are_stored_whole_and_commands_refused(thread: Thread) -> None:
    history = BackscrollChatMessageHistory(thread)
    history.add_message(AIMessageChunk(content="half ") + AIMessageChunk(content="whole"))
    assert [(m.type, m.text) for m in history.messages] == [("ai", "half whole")]
    with pytest.raises(InvalidInput, match="says nothing"):
        history.add_messages([HumanMessage("x"), RemoveMessage(id="1")])
    assert len(history.messages) == 1


def test_edited_message_is_converted_anew(thread: Thread) -> None:
    """It comes out with its new text."""
    history = BackscrollChatMessageHistory(thread)
    odd = [{"type": "text", "text": "old"}, {"type": "tool_use", "id": "x", "name": "y", "input": {}}]
    history.add_messages([HumanMessage(odd, id="h1"), HumanMessage([], id="h2")])
    for message in list(thread.messages()):
        thread.edit(message.id, "new")
    assert [(m.content, m.id) for m in history.messages] == [("new", "h1"), ("new", "h2")]


def test_clear_can_be_undone(thread: Thread) -> None:
    history = BackscrollChatMessageHistory(thread)
    history.add_messages(MESSAGES)
    history.clear()
    assert history.messages == []
    assert history.give_back()
    assert len(history.messages) == len(MESSAGES)


def test_history_fits_a_budget(thread: Thread) -> None:
    whole = BackscrollChatMessageHistory(thread)
    assert BackscrollChatMessageHistory(thread, budget=3_000).messages == []
    for n in range(20):
        whole.add_messages([HumanMessage(f"fact {n} " + "words " * 200), AIMessage("noted")])
    few = BackscrollChatMessageHistory(thread, budget=3_000).messages
    assert "fact 19" in str(few[-2].content) + str(few[-1].content)
    assert sum(len(str(m.content)) for m in few) < 3_000 * 5
    assert len(whole.messages) == 40


def test_example_remembers_without_a_checkpointer(tmp_path: Path) -> None:
    with ScriptedServer(example.SCRIPT) as server:
        assert example.main(server.url, tmp_path) == [
            "An oak stands there.",
            "300 years.",
            "human, ai, tool, ai, human, ai",
        ]


def test_agent_with_a_checkpointer_is_recorded_once(thread: Thread) -> None:
    """It sends its whole state: each message, the system prompt and each call are recorded once."""
    lines = (LOOK, Line(text="an oak", times=1), Line(text="old", times=1))
    with ScriptedServer(Scenario(lines=lines)) as server:
        agent = agent_of(server, thread, budget=8_000, checkpointer=InMemorySaver())
        where: Any = {"configurable": {"thread_id": "1"}}
        agent.invoke(asked("what is there?"), where)
        state = agent.invoke(asked("how old?"), where)
    assert roles(thread) == ["system", "user", "assistant", "tool", "assistant", "user", "assistant"]
    assert [m.type for m in state["messages"]] == ["human", "ai", "tool", "ai", "human", "ai"]
    spent = list(calls(thread.engine))
    assert len(spent) == 3
    assert all(c.input > 0 and not c.estimated for c in spent)


def test_repeated_text_is_a_new_turn(thread: Thread) -> None:
    """`go on` twice from an agent without state is two turns, not a regenerated answer."""
    with ScriptedServer(Scenario(lines=(Line(text="one", times=1), Line(text="two", times=1)))) as server:
        agent = agent_of(server, thread)
        agent.invoke(asked("go on"))
        agent.invoke(asked("go on"))
    assert [m.text for m in thread.messages()][1:] == ["go on", "one", "go on", "two"]


def test_every_call_fits_and_nothing_is_lost(thread: Thread) -> None:
    """The service refuses more than the budget; the agent's own list grows without end."""
    scenario = Scenario(lines=(Line(text="noted"),), budget=6_000, tokens="gpt-4o")
    with ScriptedServer(scenario) as server:
        agent = agent_of(server, thread, budget=6_000, checkpointer=InMemorySaver())
        where: Any = {"configurable": {"thread_id": "1"}}
        state: Any = {}
        for n in range(25):
            state = agent.invoke(asked(f"Fact {n}: tree {n} is {n} years old. " + "words " * 300), where)
        assert len(state["messages"]) == 50
        assert "tree 24" in server.asked[-1].everything
        assert "You are a gardener." in server.asked[-1].everything
    assert len([r for r in roles(thread) if r == "user"]) == 25


def test_trailing_system_message_is_sent_but_not_recorded(thread: Thread) -> None:
    """Other middleware may add one for a call; the model sees it, the thread does not keep it."""

    class Reminding(AgentMiddleware[Any, Any, Any]):
        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            return handler(request.override(messages=[*request.messages, SystemMessage("Mind the time.")]))

    with ScriptedServer(Scenario(lines=(Line(text="ok", times=1),))) as server:
        agent: Any = create_agent(
            example.SmallChat(base_url=server.url),
            middleware=[Reminding(), BackscrollMiddleware(thread, strict=True)],
        )
        agent.invoke(asked("hello"))
        assert "Mind the time." in server.asked[-1].everything
    assert [m.text for m in thread.messages()] == ["hello", "ok"]


def test_asynchronous_agents_are_recorded(thread: Thread) -> None:
    async def work(agent: Any) -> None:
        await agent.ainvoke(asked("what is there?"))

    with ScriptedServer(Scenario(lines=(LOOK, Line(text="an oak", times=1)))) as server:
        asyncio.run(work(agent_of(server, thread)))
    assert roles(thread) == ["system", "user", "assistant", "tool", "assistant"]


def test_failed_call_raises_the_agents_own_error(thread: Thread) -> None:
    scenario = Scenario(lines=(Line(fault=Fault(500, "broken"), times=1),))
    with ScriptedServer(scenario) as server, pytest.raises(InternalServerError, match="broken"):
        agent_of(server, thread).invoke(asked("go"))
    assert [c.purpose for c in calls(thread.engine)] == ["failed"]
    assert roles(thread) == ["system", "user"]


def test_internal_error_does_not_break_the_agent(thread: Thread, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr("backscroll.engine.calls.capture.take_in", broken)
    with ScriptedServer(Scenario(lines=(Line(text="still here"),))) as server:
        agent = create_agent(
            example.SmallChat(base_url=server.url), tools=[], middleware=[BackscrollMiddleware(thread)]
        )
        with pytest.warns(RuntimeWarning, match="the disk is full"):
            state: Any = agent.invoke(asked("go"))  # type: ignore[arg-type]
    assert state["messages"][-1].text == "still here"


def test_recording_alone_sends_the_list_unchanged(thread: Thread) -> None:
    thread.append("user", "something from long ago")
    thread.append("assistant", "indeed")
    with ScriptedServer(Scenario(lines=(Line(text="hi", times=1),))) as server:
        agent_of(server, thread, assemble=False).invoke(asked("hello"))
        assert "long ago" not in server.asked[-1].everything
    assert [m.text for m in thread.messages()][-2:] == ["hello", "hi"]


def test_signed_thinking_is_sent_back_on_its_own_wire(thread: Thread) -> None:
    """A prompt on Anthropic's wire gives the signed block back, right before the call that it led to; where the block answered another
    prompt than ours, it is left out."""
    from backscroll.engine.calls.capture import append_all

    thinking = MESSAGES[11].model_copy(update={"response_metadata": {"model_name": "claude-sonnet-5-5"}})
    said = [HumanMessage("look"), thinking, ToolMessage("bark", tool_call_id="c3")]
    tools = [{"name": "sniff", "input_schema": {"type": "object"}}]
    elsewhere = thread.engine.create("elsewhere")
    append_all(elsewhere, [parse_message(m) for m in said])
    asked = elsewhere.prompt(8_000, wire="anthropic", model="claude-sonnet-5-5", tools=tools)
    assert "sealed" not in str(asked.request)
    append_all(thread, [parse_message(said[0])])
    thread.prompt(8_000, wire="anthropic", model="claude-sonnet-5-5", tools=tools)
    append_all(thread, [parse_message(m) for m in said[1:]])
    body = thread.prompt(8_000, wire="anthropic", model="claude-sonnet-5-5", tools=tools).request
    out: list[Any] = [t for m in messages_in("anthropic", body) for t in render_messages(m, lambda _: None)]
    answer = next(m for m in out if m.type == "ai")
    assert answer.content[0] == {"type": "thinking", "thinking": "hm", "signature": "sealed"}
    assert answer.tool_calls[0]["id"] == "c3"
    assert any(m.type == "tool" and m.tool_call_id == "c3" for m in out)
