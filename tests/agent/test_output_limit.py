"""Answers at the output limit, on all three wires over real HTTP: asked for by the model's table, continued, told, and bounded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import backscroll
from backscroll.agent.approval.approval import Rules
from backscroll.agent.events import Called as Ran
from backscroll.agent.events import Finished, Happening, Noted, RunStep, to_json
from backscroll.agent.tool import ToolContext
from backscroll.agent.toolbox import tool
from backscroll.engine.budget.answer_limit import longest_answer, reserve_for, reserve_within
from backscroll.engine.calls.replies import record_reply
from backscroll.llm.clients.client import Reply
from backscroll.llm.prices.windows import window_for
from backscroll.testing import Line
from backscroll.testing.scenario import ScriptedCall
from backscroll.vocab.prompt import Wire
from tests.agent.scripted_agent import KINDS, Stage, call, stage

LONG = " ".join(f"word{n}" for n in range(3000))  # 5,700 tokens as the scripted service counts
WIRE: dict[str, Wire] = {
    "openai": "openai-chat",
    "openai-responses": "openai-responses",
    "anthropic": "anthropic",
}


def kinds(happenings: list[Happening]) -> list[str]:
    return [h.kind for h in happenings if isinstance(h, Noted)]


def valid(on: Stage, kind: str) -> None:
    wire = WIRE[kind]
    tools = on.agent.toolbox.specs(wire)
    made = on.thread.prompt(30_000, model="gpt-4o", wire=wire, tools=tools, dry_run=True)
    assert not backscroll.check(made.messages, wire=wire, system=made.system, tools=made.tools)


@pytest.mark.parametrize("kind", KINDS)
def test_output_limit_is_the_models_own(tmp_path: Path, kind: str) -> None:
    """An answer of more than 4,096 tokens is whole: nothing caps it but the model (gpt-4o: 16,384)."""
    with stage(tmp_path, Line(text=LONG), kind=kind, standard=False, budget=None) as on:
        end = on.end("tell")
        assert (end.end, end.text) == ("answered", LONG)
        assert on.server.asked[0].limit == window_for("gpt-4o").output == 16_384
        assert not on.server.flaws


@pytest.mark.parametrize("kind", KINDS)
def test_cut_answer_is_continued_and_joined(tmp_path: Path, kind: str) -> None:
    answers = (
        Line(text=LONG, reasoning="so", times=1),
        Line(text=" and the end.", reasoning="then", times=1),
    )
    how: dict[str, Any] = {"kind": kind, "standard": False, "scenario": {"max_output": 1000, "once": True}}
    with stage(tmp_path, *answers, "next answer", **how) as on:
        told = on.say("tell")
        end = told[-1]
        assert isinstance(end, Finished)
        first = next(h for h in told if isinstance(h, RunStep)).text
        assert 0 < len(first) < len(LONG)
        assert LONG.startswith(first)
        assert (end.end, end.text) == ("answered", first + " and the end.")
        assert kinds(told) == ["output_limit", "continued"]
        assert [to_json(h).get("cut") for h in told if isinstance(h, RunStep)] == [True, None]
        said = [m.text for m in on.thread.messages() if m.role == "assistant" and m.text]
        assert said == [first, " and the end."]
        assert on.thread.info.turns == 1
        asked = on.server.asked[-1]
        assert asked.last[0] == "user"
        assert "output limit" in asked.last[1]
        valid(on, kind)
        # The words between the parts stay where they were: later prompts begin with the same bytes.
        name = "input" if kind == "openai-responses" else "messages"
        before = json.dumps(asked.body[name], sort_keys=True)[:-1]
        assert on.end("next").end == "answered"
        after = json.dumps(on.server.asked[-1].body[name], sort_keys=True)
        marks = '"cache_control"'
        if marks not in before:
            assert after.startswith(before)
        assert not on.server.flaws


@pytest.mark.parametrize("kind", KINDS)
def test_continuing_a_cut_answer_is_bounded(tmp_path: Path, kind: str) -> None:
    with stage(tmp_path, Line(text=LONG), kind=kind, standard=False, scenario={"max_output": 200}) as on:
        told = on.say("tell")
        end = told[-1]
        assert isinstance(end, Finished)
        assert end.end == "cut"
        assert end.steps == 5
        assert len(end.text) > 3000  # what came is kept
        assert kinds(told).count("continued") == 4
        assert on.agent.unfinished == "the answer"
        valid(on, kind)
        *_, again = on.agent.resume()
        assert isinstance(again, Finished)
        assert again.end == "cut"  # it goes on, and is cut again
        assert not on.server.flaws


@pytest.mark.parametrize("kind", KINDS)
def test_reasoning_that_uses_up_the_limit_is_a_cut(tmp_path: Path, kind: str) -> None:
    line = Line(reasoning=LONG, text="never said")
    with stage(tmp_path, line, kind=kind, standard=False, scenario={"max_output": 500}) as on:
        end = on.end("tell")
        assert (end.end, end.text, end.steps) == ("cut", "", 2)


@pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("kind", KINDS)
def test_cut_tool_call_is_never_run(tmp_path: Path, kind: str, streamed: bool) -> None:
    """Complete calls before it are run, and the model is told to use smaller pieces."""
    both = (
        call("write_file", path="small.txt", content="x"),
        call("write_file", path="big.txt", content=LONG),
    )
    answers = (Line(calls=both, times=1), "in pieces then")
    scenario = {"max_output": 1000}
    with stage(tmp_path, *answers, kind=kind, scenario=scenario, rules=Rules("all")) as on:
        if not streamed:
            _without_streams(on)
        told = on.say("write it")
        assert told[-1].end == "answered"  # type: ignore[union-attr]
        assert (on.root / "small.txt").read_text() == "x"
        assert not (on.root / "big.txt").exists()
        results = {h.call_id: h for h in told if isinstance(h, Ran)}
        half = results["call_1_2"]
        assert half.is_error
        assert "not run" in half.text
        assert "1,000 tokens" in half.text
        assert "smaller pieces" in half.text
        assert not results["call_1_1"].is_error
        assert "cut_call" in kinds(told)
        asked = on.server.asked[-1]
        assert len(asked.everything) < 10_000  # the half is not sent back in full
        assert not on.server.flaws
        valid(on, kind)
        # All that came of it is in the record.
        kept = next(p for m in on.thread.messages() for p in m.parts if getattr(p, "id", "") == "call_1_2")
        assert "word400" in str(kept.arguments)


def _without_streams(on: Stage) -> None:
    """The same client, asked for whole answers: what programs do that do not stream."""
    from backscroll.llm.clients.client import Done

    client = on.agent.client()
    client.stream = lambda request: iter([Done(client.complete(request))])


@pytest.mark.parametrize("kind", KINDS)
def test_repeatedly_cut_calls_end_the_run(tmp_path: Path, kind: str) -> None:
    """After three steps, even if the model changes the arguments each time."""
    line = Line(calls=(call("write_file", path="a{step}.txt", content=LONG),), fill=True)
    with stage(tmp_path, line, kind=kind, scenario={"max_output": 400}, rules=Rules("all")) as on:
        end = on.end("write")
        assert (end.end, end.steps) == ("cut", 3)
        valid(on, kind)


def test_cut_tool_call_is_not_run_after_a_crash(tmp_path: Path) -> None:
    with stage(tmp_path, "never mind", rules=Rules("all")) as on:
        on.thread.append("user", "write it")
        given = {"path": "half.txt", "content": "the first half of"}
        block = {"type": "tool_use", "id": "c1", "name": "write_file", "input": given}
        from backscroll.llm.clients.anthropic_events import reply_of

        reply = reply_of({"content": [block], "stop_reason": "max_tokens"}, "gpt-4o")
        record_reply(on.thread, reply, "anthropic", provider="here", model="gpt-4o")
        told = on.say(None)
        assert told[-1].end == "answered"  # type: ignore[union-attr]
        assert not (on.root / "half.txt").exists()
        assert any("not run" in h.text for h in told if isinstance(h, Ran))


def test_cut_call_is_detected_despite_a_wrong_finish_reason(tmp_path: Path) -> None:
    """Some say `tool_calls` although the limit ended the answer: half a JSON text, and every token used."""
    half = '{"path": "a.txt", "content": "begin'
    delta = {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "write_file", "arguments": half}}]}
    usage = {"prompt_tokens": 10, "completion_tokens": 16_384}
    chunks = [
        {"choices": [{"index": 0, "delta": delta}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}], "usage": usage},
    ]
    raw = tuple(f"data: {json.dumps(c)}\n\n" for c in chunks)
    with stage(tmp_path, Line(raw=raw, times=1), "fine", rules=Rules("all"), budget=None) as on:
        told = on.say("write")
        assert "cut_call" in kinds(told)


# -- going round in circles ----------------------------------------------------------------------------------------


@tool(effect="read")
def look(what: str) -> str:
    """Look at something.

    Args:
        what: the thing
    """
    return f"there is a {what}"


@tool(effect="read")
def clock(context: ToolContext) -> str:
    """Tell something that is other each time."""
    return f"it is {context.thread.head}"


@pytest.mark.parametrize("kind", KINDS)
def test_three_identical_calls_and_results_end_the_run(tmp_path: Path, kind: str) -> None:
    with stage(
        tmp_path, Line(calls=(call("look", what="x"),)), kind=kind, tools=[look], standard=False
    ) as on:
        told = on.say("go")
        end = told[-1]
        assert isinstance(end, Finished)
        assert (end.end, end.steps) == ("repeated", 3)
        assert kinds(told) == ["repeated"]
        valid(on, kind)


def test_two_step_loops_end_the_run_unless_results_change(tmp_path: Path) -> None:
    a, b = call("look", what="a"), call("look", what="b")
    with stage(tmp_path, *[a, b] * 6, tools=[look], standard=False) as on:
        end = on.end("go")
        assert (end.end, end.steps) == ("repeated", 6)
    other = tmp_path / "other"
    other.mkdir()
    with stage(other, *[call("clock")] * 9, "done", tools=[look, clock], standard=False) as on:
        assert on.end("go").end == "answered"


def test_repeated_failures_end_the_run(tmp_path: Path) -> None:
    with stage(tmp_path, Line(calls=(ScriptedCall("no_such_tool", {}),)), standard=False) as on:
        end = on.end("go")
        assert (end.end, end.steps) == ("repeated", 3)


# -- arithmetic ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model", ["gpt-4o", "gpt-5", "claude-sonnet-5-5", "gpt-4", "nobody-knows-me", "smollm2"]
)
def test_reserve_fits_the_model_and_its_window(tmp_path: Path, model: str) -> None:
    with backscroll.open(tmp_path / "s.db", background=False) as engine:
        window = window_for(model)
        for sent in (0, 100, window.tokens // 3, window.tokens - 5000, window.tokens):
            reserve = reserve_for(engine, model, window.tokens)
            most = longest_answer(engine, model, sent=max(0, sent), reserve=reserve, budget=window.tokens)
            assert 1 <= most <= window.output
            if 0 <= sent <= window.tokens - reserve * 1.2:
                assert sent + most <= window.tokens
        assert 0 < reserve_for(engine, model, 8000) <= 2000
        assert reserve_for(engine, model, 32_000) <= 4096  # small budgets are as they were


def test_spending_limit_shortens_an_answer(tmp_path: Path) -> None:
    """A dollar buys no answer of 16,384 tokens at the highest price; it buys one of the usual length."""
    table = tmp_path / "prices.toml"
    table.write_text('[[model]]\nmatch = "gpt-4o"\ninput = 1.0\noutput = 100.0\n', encoding="utf-8")
    settings = {"day_limit": 1.0, "prices": str(table)}
    with stage(tmp_path, Line(text="short"), settings=settings, standard=False, budget=None) as on:
        assert on.end("hello").end == "answered"
        assert on.server.asked[0].limit == 4096
        again = on.end("hello")
        assert again.end == "answered"


def test_model_table_of_the_user_sets_the_output_limit(tmp_path: Path) -> None:
    table = tmp_path / "prices.toml"
    table.write_text('[[model]]\nmatch = "gpt-4o"\nmax_output = 777\n', encoding="utf-8")
    with stage(tmp_path, "short", settings={"prices": str(table)}, standard=False, budget=None) as on:
        on.end("hello")
        assert on.server.asked[0].limit == 777


@pytest.mark.parametrize(
    ("budget", "wanted", "kept"),
    [
        (32_000, 1000, 1000),
        (32_000, 64_000, 4000),
        (None, 150_000, 100_000),
        (32_000, None, None),
        (32_000, True, None),
    ],
)
def test_requested_output_limit_leaves_room_for_the_prompt(
    tmp_path: Path, budget: int | None, wanted: Any, kept: int | None
) -> None:
    with backscroll.open(tmp_path / "s.db", background=False) as engine:
        assert reserve_within(engine, "claude-sonnet-4-5", budget, wanted) in (
            kept,
            4096 if kept == 4000 else kept,
        )


def test_recorded_cut_reply_is_marked(tmp_path: Path) -> None:
    from backscroll.vocab.message import is_cut

    with backscroll.open(tmp_path / "s.db", background=False) as engine:
        thread = engine.create("t")
        thread.append("user", "hi")
        raw = {"role": "assistant", "content": "half an"}
        record_reply(thread, Reply("half an", "m", "length", raw=raw), "openai-chat", provider="p", model="m")
        assert is_cut(thread.message(-1))
