"""Pydantic AI: a capability, a history processor and histories in and out, with real agents against a scripted service over HTTP."""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from openai import AsyncOpenAI
from pydantic import BaseModel
from pydantic_ai import Agent, ModelHTTPError
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.messages import (
    BinaryContent,
    ImageUrl,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    NativeToolCallPart,
    RetryFeedbackPart,
    RetryInfo,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.usage import RequestUsage

import backscroll
from backscroll.engine.budget.costs import calls
from backscroll.engine.thread import Thread
from backscroll.surfaces.adapters.pydantic_ai import (
    BackscrollMemory,
    history_processor,
    load_history,
    store_history,
)
from backscroll.testing import Line, Scenario, ScriptedServer
from backscroll.testing.scenario import Fault, ScriptedCall
from tests.house import tree

_SPEC = importlib.util.spec_from_file_location(
    "pydantic_ai_agent", tree.ROOT / "examples" / "pydantic_ai_agent.py"
)
assert _SPEC is not None
assert _SPEC.loader is not None
example: Any = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(example)


@pytest.fixture
def thread(tmp_path: Path) -> Iterator[Thread]:
    with backscroll.open(tmp_path / "s.db", background=False) as engine:
        yield engine.create("an agent")


def running(
    work: Callable[[Any], Awaitable[None]], scenario: Scenario, *capabilities: Any, **how: Any
) -> ScriptedServer:
    """Run something with an agent of the framework; gives the server that answered it."""
    how.setdefault("tools", [example.look])

    async def whole(server: ScriptedServer) -> None:
        async with AsyncOpenAI(base_url=server.url, api_key="k", max_retries=0) as client:
            model = OpenAIChatModel("gpt-4o", provider=OpenAIProvider(openai_client=client))
            agent = Agent(
                model, instructions="You are a gardener.", capabilities=list(capabilities), retries=2, **how
            )
            await work(agent)

    with ScriptedServer(scenario) as server:
        asyncio.run(whole(server))
    return server


def roles(thread: Thread) -> list[str]:
    return [m.role for m in thread.messages()]


def dumped(messages: list[ModelMessage]) -> Any:
    return ModelMessagesTypeAdapter.dump_python(messages, mode="json")


LOOK = Line(calls=(ScriptedCall("look", {"at": "pond"}),), times=1)
PIXEL = b"\x89PNG\xfb\xff\x00picture"
MESSAGES: list[ModelMessage] = [
    ModelRequest(
        parts=[SystemPromptPart("be brief"), UserPromptPart("你好")], instructions="more", run_id="r1"
    ),
    ModelResponse(
        parts=[
            ThinkingPart("hm", signature="sealed", provider_name="anthropic"),
            TextPart("I look.", id="t1", provider_name="openai"),
            ToolCallPart("look", {"at": "池塘"}, "c1"),
            ToolCallPart("look", '{"at": 2}', "c2"),
            ToolCallPart("look", None, "c3"),
            NativeToolCallPart("web_search", {"q": 1}, "c4", provider_name="openai"),
        ],
        usage=RequestUsage(input_tokens=10, output_tokens=3),
        model_name="claude-sonnet-5-5",
        run_id="r1",
    ),
    ModelRequest(
        parts=[
            ToolReturnPart("look", {"a": [1, None]}, "c1"),
            ToolReturnPart("look", "no such place", "c2", outcome="retried"),
            ToolReturnPart("look", ["see", BinaryContent(PIXEL, media_type="image/png")], "c3"),
            RetryFeedbackPart("nope", retry=RetryInfo(cause="model_retry")),
            UserPromptPart(
                ["this", ImageUrl("https://example.org/a.png"), BinaryContent(PIXEL, media_type="image/png")]
            ),
        ],
        metadata={"mine": 1},
    ),
    ModelResponse(parts=[]),
    ModelRequest(parts=[UserPromptPart([])]),
    ModelResponse(parts=[TextPart("")], finish_reason="stop"),
    ModelRequest(parts=[], state="interrupted"),
    ModelRequest(parts=[UserPromptPart("again"), UserPromptPart(["only"])]),
]


def test_history_round_trips(thread: Thread) -> None:
    """Every kind of part, its ids, signatures, usage and outcome; pictures are stored as bytes, once."""
    store_history(thread, MESSAGES)
    assert dumped(load_history(thread)) == dumped(MESSAGES)
    kept = [m for m in thread.messages() if "picture" in str(m.parts) or "iVBO" in str(m.parts)]
    assert kept == []


def test_storing_again_adds_only_new_messages(thread: Thread) -> None:
    store_history(thread, MESSAGES[:2])
    before = [m.id for m in thread.messages()]
    store_history(thread, MESSAGES[:3])
    assert [m.id for m in thread.messages()][: len(before)] == before
    assert dumped(load_history(thread)) == dumped(MESSAGES[:3])


def test_thread_of_another_program_becomes_a_history(thread: Thread) -> None:
    """Messages from another framework or written manually become valid requests and responses."""
    thread.append("user", "look at the pond")
    thread.append(
        "assistant", (backscroll.Text("I look."), backscroll.ToolCall("c1", "look", {"at": "pond"}))
    )
    thread.append("tool", backscroll.ToolResult("c1", (backscroll.Text("an oak"),)))
    thread.append("assistant", "An oak.")
    first, second, third, fourth = load_history(thread)
    assert [m.kind for m in (first, second, third, fourth)] == ["request", "response", "request", "response"]
    assert isinstance(third.parts[0], ToolReturnPart)
    assert (third.parts[0].tool_name, third.parts[0].content) == ("look", "an oak")


def test_example_remembers_between_runs(tmp_path: Path) -> None:
    with ScriptedServer(example.SCRIPT) as server:
        assert asyncio.run(example.main(server.url, tmp_path)) == [
            "An oak stands there.",
            "300 years.",
            "request, response, request, response, request, response",
        ]


def test_runs_with_a_history_are_recorded_once(thread: Thread) -> None:
    """The program passes its own list, and streams: each message, the instructions and each call once."""
    lines = (LOOK, Line(text="an oak", times=1), Line(text="old", chunk=1, times=1))

    async def work(agent: Any) -> None:
        first = await agent.run("what is there?")
        async with agent.run_stream("how old?", message_history=first.all_messages()) as stream:
            assert await stream.get_output() == "old"
        assert len(stream.all_messages()) == 6

    server = running(
        work, Scenario(lines=lines), BackscrollMemory(thread, 8_000, strict=True), system_prompt="Be kind."
    )
    assert roles(thread) == ["system", "user", "assistant", "tool", "assistant", "user", "assistant"]
    spent = list(calls(thread.engine))
    assert len(spent) == 3
    assert all(c.input > 0 and not c.estimated for c in spent)
    assert all(a.everything.count("You are a gardener.") == 1 for a in server.asked)
    assert all(a.everything.count("Be kind.") == 1 for a in server.asked)


def test_every_call_fits_and_nothing_is_lost(thread: Thread) -> None:
    """The service refuses more than the budget; the program's own list grows without end."""

    async def work(agent: Any) -> None:
        history: Any = None
        for n in range(20):
            asked = f"Fact {n}: tree {n} is {n} years old. " + "words " * 300
            history = (await agent.run(asked, message_history=history)).all_messages()
        assert len(history) == 40

    scenario = Scenario(lines=(Line(text="noted"),), budget=6_000, tokens="gpt-4o")
    server = running(work, scenario, BackscrollMemory(thread, 6_000, strict=True))
    assert "tree 19" in server.asked[-1].everything
    assert len([r for r in roles(thread) if r == "user"]) == 20


class Tree(BaseModel):
    kind: str
    age: int


def test_retry_requests_of_the_framework_reach_the_model(thread: Thread) -> None:
    """Invalid structured output is sent back with the reason, also through our prompt."""
    lines = (
        Line(calls=(ScriptedCall("final_result", {"kind": "oak", "age": "old"}),), times=1),
        Line(calls=(ScriptedCall("final_result", {"kind": "oak", "age": 300}),), times=1),
    )

    async def work(agent: Any) -> None:
        assert (await agent.run("which tree?")).output == Tree(kind="oak", age=300)

    server = running(
        work, Scenario(lines=lines), BackscrollMemory(thread, 8_000, strict=True), output_type=Tree
    )
    assert "integer" in server.asked[-1].everything


def test_repeated_text_is_a_new_turn(thread: Thread) -> None:
    async def work(agent: Any) -> None:
        await agent.run("go on")
        await agent.run("go on")

    running(
        work, Scenario(lines=(Line(text="one", times=1), Line(text="two", times=1))), BackscrollMemory(thread)
    )
    assert [m.text for m in thread.messages()][1:] == ["go on", "one", "go on", "two"]


def test_failed_call_raises_the_agents_own_error(thread: Thread) -> None:
    async def work(agent: Any) -> None:
        with pytest.raises(ModelHTTPError, match="broken"):
            await agent.run("go")

    running(work, Scenario(lines=(Line(fault=Fault(500, "broken")),)), BackscrollMemory(thread, strict=True))
    assert [c.purpose for c in calls(thread.engine)] == ["failed"]
    assert roles(thread) == ["system", "user"]


def test_internal_error_does_not_break_the_agent(thread: Thread, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr("backscroll.engine.calls.capture.take_in", broken)

    async def work(agent: Any) -> None:
        with pytest.warns(RuntimeWarning, match="the disk is full"):
            assert (await agent.run("go")).output == "still here"

    running(work, Scenario(lines=(Line(text="still here"),)), BackscrollMemory(thread))


def test_history_processor_fits_its_budget(thread: Thread) -> None:
    """What it returns becomes the run's history: our own text in it is not recorded as a message."""
    processor = history_processor(thread, 6_000, strict=True)

    async def work(agent: Any) -> None:
        history: Any = None
        for n in range(12):
            asked = f"Fact {n}: tree {n} is {n} years old. " + "words " * 300
            done = await agent.run(asked, message_history=history)
            history = done.all_messages()
            processor.finish(history)
            assert [m.kind for m in done.new_messages()][-1] == "response"

    lines = (LOOK, Line(text="noted"))
    scenario = Scenario(lines=lines, budget=6_000, tokens="gpt-4o")
    server = running(work, scenario, ProcessHistory(processor), system_prompt="Be kind.")
    assert all(a.everything.count("Be kind.") == 1 for a in server.asked)
    assert all(a.everything.count("You are a gardener.") == 1 for a in server.asked)
    told = [m for m in thread.messages() if m.role != "system"]
    assert [m.role for m in told] == ["user", "assistant", "tool", "assistant"] + ["user", "assistant"] * 11
    assert [m.text.split(":")[0] for m in told if m.role == "user"] == [f"Fact {n}" for n in range(12)]
    assert "tree 11" in server.asked[-1].everything
    spent = list(calls(thread.engine))
    assert len(spent) == len(server.asked) == 13
    assert all(c.input > 0 and not c.estimated and c.model.startswith("gpt-4o") for c in spent)
