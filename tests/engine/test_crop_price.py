"""A crop says what it costs and when it pays, as a compaction does; and a summary by rules says what happened, with figures and names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import backscroll
from backscroll.derive.essence.sentences import rough_count
from backscroll.engine.crops.crops import SUMMARY_TOKENS, made_summary
from backscroll.engine.engine import Engine
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Content, Message, Role
from backscroll.vocab.part import Json, Part, Text, ToolCall, ToolResult


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with backscroll.open(tmp_path / "store.db", background=False) as opened:
        yield opened


def talk(engine: Engine, turns: int, words: int = 200) -> backscroll.Thread:
    """Turns of the same length, and a last request."""
    made = engine.create("price")
    for n in range(turns):
        made.append("user", f"question {n} " + "about the harbour " * words)
        made.append("assistant", f"answer {n} " + "about the harbour " * words)
    made.append("user", "and now?")
    return made


def test_crop_costs_rewriting_everything_after_it(engine: Engine) -> None:
    """From the top everything behind is paid for once more; the nearer to the end, the sooner it pays."""
    thread = talk(engine, 20)
    top = thread.crop("top", 4, dry_run=True)
    ids = [m.id for m in thread]
    late = thread.crop(first=ids[32], last=ids[35], dry_run=True)
    assert top.tokens == pytest.approx(late.tokens, rel=0.05)
    assert top.saves_per_call == pytest.approx((top.tokens - top.summary_tokens) * 0.1)
    assert top.cost_now > 4 * late.cost_now > 0
    assert top.pays_back_after is not None
    assert late.pays_back_after is not None
    assert top.pays_back_after > late.pays_back_after >= 1
    assert top.pays_back_after == max(1, round(top.cost_now / top.saves_per_call))


def test_dry_run_of_a_crop_reports_the_same_costs(engine: Engine) -> None:
    thread = talk(engine, 6)
    rehearsed = thread.crop("top", 4, dry_run=True)
    done = thread.crop("top", 4)
    assert (done.cost_now, done.saves_per_call, done.pays_back_after) == (
        rehearsed.cost_now,
        rehearsed.saves_per_call,
        rehearsed.pays_back_after,
    )
    again = thread.crop("top", 4, dry_run=True)  # what is cropped already is written by nobody
    assert again.cost_now < done.cost_now


def test_crop_cost_is_bounded_by_the_budget(tmp_path: Path) -> None:
    """A budget bounds what one call can cost."""
    with backscroll.open(tmp_path / "small.db", background=False, budget=4_000) as engine:
        told = talk(engine, 60).crop("top", 4, dry_run=True)
        assert told.cost_now <= (4_000 + told.summary_tokens) * 1.25


# -- summaries by rules ------------------------------------------------------------------------------------------


def said(number: int, role: Role, *parts: Part) -> Message:
    ref = Ref("0" * 32, number)
    return Message(ref, role, ref, Content(parts), "2026-01-01T00:00:00+00:00")


def step(number: int, tool: str, arguments: Json, result: str) -> list[Message]:
    call = ToolCall(f"c{number}", tool, arguments)
    return [said(number, "assistant", call), said(number + 1, "tool", ToolResult(call.id, (Text(result),)))]


STEPS: list[tuple[str, Json, str]] = [
    ("python", {"code": "print(frame.describe())"}, "rows: 1204\ntotal: {figure}\nowner: {name}\n"),
    ("query_sql", {"sql": "select * from sales"}, '[{{"owner": "{name}", "total": {figure}}}, {{"owner": "Ann", "total": 3}}]'),
    ("bash", {"command": "docker logs api"}, "2026-03-01 12:00:00 INFO start\n2026-03-01 12:00:01 ERROR {name} owes {figure}\n2026-03-01 12:00:02 INFO end\n"),
    ("read_file", {"path": "sales.csv"}, "region,owner,total\nNorth,{name},{figure}\n"),
]  # fmt: skip


@given(
    st.sampled_from(STEPS),
    st.integers(10_000, 99_999),
    st.sampled_from(["Weber_Dana", "王芳", "ORD-7731"]),
    st.integers(0, 6),
)
def test_a_summary_of_tool_steps_keeps_figures_and_names(
    kind: tuple[str, Json, str], whole: int, name: str, more: int
) -> None:
    """A crop of calls and results alone used to be summed up as "Files: sales.csv"."""
    tool, arguments, shape = kind
    figure = f"{whole}.50"
    messages = step(1, tool, arguments, shape.format(figure=figure, name=name))
    for n in range(more):
        messages += step(
            3 + 2 * n, "read_file", {"path": f"part{n}.py"}, f"def part{n}():\n    return {n}\n" * 30
        )
    summary = made_summary(messages, rough_count)
    assert figure in summary
    assert name in summary
    assert rough_count(summary) <= SUMMARY_TOKENS


@given(st.integers(10_000, 99_999), st.integers(1, 30))
def test_a_summary_keeps_the_figures_that_were_told(whole: int, others: int) -> None:
    """Among many turns of talk the one with figures is quoted."""
    messages = [
        said(
            2 * n + 1,
            "user" if n % 2 == 0 else "assistant",
            Text("It was a nice day by the sea, and we walked."),
        )
        for n in range(others)
    ]
    messages.append(said(100, "assistant", Text(f"The total is {whole}.50 EUR for Dana Weber.")))
    summary = made_summary(messages, rough_count)
    assert f"{whole}.50" in summary
    assert "Dana Weber" in summary
    assert rough_count(summary) <= SUMMARY_TOKENS
