"""The session for the OpenAI Agents SDK: the real runner against a scripted service over HTTP."""

from __future__ import annotations

import asyncio
import importlib.util
import warnings
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from agents import (
    Agent,
    OpenAIResponsesModel,
    RunConfig,
    Runner,
    Session,
    function_tool,
    set_tracing_disabled,
)
from openai import AsyncOpenAI

import backscroll
from backscroll.engine.budget.costs import calls
from backscroll.engine.thread import Thread
from backscroll.errors import BudgetTooSmall, InvalidInput
from backscroll.surfaces.adapters.openai_agents import BackscrollSession
from backscroll.testing import Line, Scenario, ScriptedServer
from backscroll.testing.scenario import ScriptedCall
from tests.house import tree

set_tracing_disabled(True)


@pytest.fixture
def thread(tmp_path: Path) -> Iterator[Thread]:
    with backscroll.open(tmp_path / "s.db", background=False) as engine:
        yield engine.create("an agent")


@function_tool
def look(at: str) -> str:
    """Look at something."""
    return f"{at}: bark, leaves"


def running(
    work: Callable[[Agent[Any]], Awaitable[None]],
    *lines: Line | str,
    system: str = "be brief",
    budget: int = 0,
) -> ScriptedServer:
    """Run something with an agent of the SDK; gives the server that answered it."""
    made = tuple(Line(text=x, times=1) if isinstance(x, str) else x for x in lines)

    async def whole(server: ScriptedServer) -> None:
        async with AsyncOpenAI(base_url=server.url, api_key="k", max_retries=0) as client:
            model = OpenAIResponsesModel(model="gpt-4o", openai_client=client)
            await work(Agent(name="botanist", instructions=system, model=model, tools=[look]))

    with ScriptedServer(Scenario(lines=made, budget=budget, tokens="gpt-4o")) as server:
        asyncio.run(whole(server))
    return server


def told(thread: Thread) -> list[tuple[str, str]]:
    return [(m.role, m.text) for m in thread.messages()]


CALL = Line(calls=(ScriptedCall("look", {"at": "x"}),), times=1)


def test_runner_keeps_its_conversation_in_a_thread(thread: Thread) -> None:
    """Two runs, the second streamed: its request has the first turn with call and result, each once."""

    async def work(agent: Agent[Any]) -> None:
        session = BackscrollSession(thread)
        assert isinstance(session, Session)
        first = await Runner.run(agent, "what is there?", session=session)
        assert first.final_output == "a tree"
        again = Runner.run_streamed(agent, "which one?", session=BackscrollSession(thread))
        async for _ in again.stream_events():
            pass
        assert again.final_output == "an oak"

    server = running(work, CALL, "a tree", "an oak")
    assert [r for r, _ in told(thread)] == ["user", "assistant", "tool", "assistant", "user", "assistant"]
    assert thread.operations(5)[0].tool_name == "look"
    sent = server.asked[-1].everything
    assert "what is there?" in sent
    assert "bark, leaves" in sent
    assert "a tree" in sent


def test_calls_of_a_run_are_on_the_ledger(thread: Thread) -> None:
    """With the session's hooks, streamed or not, as the service reported them."""

    async def work(agent: Agent[Any]) -> None:
        session = BackscrollSession(thread)
        await Runner.run(agent, "what is there?", session=session, hooks=session.hooks)
        again = Runner.run_streamed(agent, "which one?", session=session, hooks=session.hooks)
        async for _ in again.stream_events():
            pass
        usage = again.context_wrapper.usage
        assert usage.input_tokens > 0

    running(work, CALL, "a tree", "an oak")
    spent = sorted(calls(thread.engine), key=lambda c: c.at)
    assert [(c.purpose, c.model, c.provider, c.turn) for c in spent] == [
        ("answer", "gpt-4o", "127.0.0.1", 1),
        ("answer", "gpt-4o", "127.0.0.1", 1),
        ("answer", "gpt-4o", "127.0.0.1", 2),
    ]
    assert all(c.input > 0 and c.output > 0 and c.nano and not c.estimated for c in spent)


def test_failing_ledger_does_not_break_a_run(thread: Thread, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run continues, and the program is warned once."""

    def broken(*_: Any, **__: Any) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("backscroll.surfaces.adapters.openai_agents.record_call", broken)
    seen: list[str] = []

    async def work(agent: Agent[Any]) -> None:
        session = BackscrollSession(thread)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            done = await Runner.run(agent, "what is there?", session=session, hooks=session.hooks)
        assert done.final_output == "a tree"
        seen.extend(str(w.message) for w in caught)

    running(work, CALL, "a tree")
    assert [w for w in seen if "disk full" in w] == [
        "backscroll could not record a call: disk full. The program goes on; strict=True raises instead."
    ]


ITEMS: list[Any] = [
    {"role": "user", "content": "hello 你好"},
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "sealed"},
    {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
     "content": [{"type": "output_text", "text": "hi", "annotations": [], "logprobs": []}]},
    {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "look", "arguments": "{\"at\": 1}", "status": "completed"},
    {"type": "function_call_output", "call_id": "c1", "output": "bark"},
    {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "q"}},
    {"type": "computer_call", "id": "cc", "call_id": "c2", "status": "completed", "pending_safety_checks": [],
     "action": {"type": "click", "x": 1, "y": 2, "button": "left"}},
    {"type": "something_of_next_year", "what": ["?"]},
    {"role": "user", "content": [{"type": "input_text", "text": "see"}, {"type": "input_image", "image_url": "https://x/y.png"}]},
]  # fmt: skip


def test_items_round_trip(thread: Thread) -> None:
    """Every kind, known or not, is the same JSON value afterwards; `limit` gives the latest ones."""

    async def work() -> None:
        session = BackscrollSession(thread)
        await session.add_items(ITEMS)
        assert await session.get_items() == ITEMS
        assert await session.get_items(3) == ITEMS[-3:]
        assert await session.get_items(0) == []
        for item in reversed(ITEMS):
            assert await session.pop_item() == item
        assert await session.pop_item() is None

    asyncio.run(work())


def test_invalid_item_is_refused_and_nothing_is_written(thread: Thread) -> None:
    async def work() -> None:
        bad: Any = [ITEMS[0], "words"]
        with pytest.raises(InvalidInput, match="not an item"):
            await BackscrollSession(thread).add_items(bad)

    asyncio.run(work())
    assert told(thread) == []


def test_clear_and_pop_can_be_undone(thread: Thread) -> None:
    async def work() -> None:
        session = BackscrollSession(thread)
        await session.add_items(ITEMS)
        await session.pop_item()
        assert await session.give_back()
        assert await session.get_items() == ITEMS
        await session.clear_session()
        assert await session.get_items() == []
        await session.clear_session()  # clearing nothing does nothing
        assert await session.give_back()
        assert await session.get_items() == ITEMS

    asyncio.run(work())


def test_one_of_several_items_of_a_message_is_popped(thread: Thread) -> None:
    """A message written elsewhere makes two items; popping one leaves the other."""
    thread.append("user", "go")
    thread.append("assistant", (backscroll.Text("I look."), backscroll.ToolCall("c9", "look", {"at": "x"})))

    async def work() -> None:
        session = BackscrollSession(thread)
        popped: Any = await session.pop_item()
        assert popped["call_id"] == "c9"
        assert [i["content"][0]["text"] for i in await session.get_items()] == ["go", "I look."]  # type: ignore[typeddict-item]

    asyncio.run(work())


def test_every_call_stays_within_the_budget(thread: Thread) -> None:
    """Long turns, then tools: the newest message is in every request, and the log is complete."""

    async def work(agent: Agent[Any]) -> None:
        session = BackscrollSession(thread, budget=5_000)
        config = RunConfig(call_model_input_filter=session.fit)
        for n in range(12):
            asked = f"Fact {n}: tree {n} is {n * 3} years old. " + "words " * 400
            await Runner.run(agent, asked, session=session, run_config=config)
        done = Runner.run_streamed(agent, "which is the oldest?", session=session, run_config=config)
        async for _ in done.stream_events():
            pass
        assert done.final_output == "number 11"

    server = running(work, *["ok"] * 12, CALL, "number 11", budget=5_000)
    assert "which is the oldest?" in server.asked[-1].everything
    assert "bark, leaves" in server.asked[-1].everything
    assert len([1 for r, _ in told(thread) if r == "user"]) == 13
    assert [r for r, _ in told(thread)][-4:] == ["user", "assistant", "tool", "assistant"]


def test_filter_without_its_session_warns(thread: Thread) -> None:
    """`fit` knows only its own thread: a run elsewhere is passed on unchanged, with a warning."""

    async def work(agent: Agent[Any]) -> None:
        session = BackscrollSession(thread, budget=5_000)
        config = RunConfig(call_model_input_filter=session.fit)
        thread.append("user", "something else")
        with pytest.warns(RuntimeWarning, match="same session"):
            assert (await Runner.run(agent, "hello", run_config=config)).final_output == "hi"

    assert "hello" in running(work, "hi").asked[-1].everything


def test_instructions_larger_than_the_budget_are_refused(thread: Thread) -> None:
    async def work(agent: Agent[Any]) -> None:
        session = BackscrollSession(thread, budget=100)
        config = RunConfig(call_model_input_filter=session.fit)
        with pytest.raises(BudgetTooSmall, match="instructions alone"):
            await Runner.run(agent, "hello", session=session, run_config=config)

    running(work, "hi", system="words " * 300)


def test_example_runs(tmp_path: Path) -> None:
    path = tree.ROOT / "examples" / "openai_agents_session.py"
    spec = importlib.util.spec_from_file_location("openai_agents_session", path)
    assert spec is not None
    assert spec.loader is not None
    example: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    with ScriptedServer(example.SCRIPT) as server:
        assert asyncio.run(example.main(server.url, tmp_path)) == [
            "An oak stands there.",
            "300 years.",
            "6 items",
        ]
