"""Journeys of a user who looks at costs."""

from __future__ import annotations

from pathlib import Path

import pytest

import backscroll
from backscroll.engine.budget.costs import record_asked, record_call
from backscroll.surfaces.screen.cells import width
from tests.journeys.conftest import Cli


@pytest.fixture
def spent(cli: Cli) -> Cli:
    """A store with calls of two models with a price and one without, over a gap of days."""
    with backscroll.open(cli.store) as engine:
        tides = engine.create("修复潮汐表的时区问题")
        record_call(
            engine,
            model="gpt-5",
            usage={
                "prompt_tokens": 80_000,
                "completion_tokens": 2_000,
                "prompt_tokens_details": {"cached_tokens": 60_000},
            },
            purpose="answer",
            thread=tides,
            turn=1,
            at="2026-11-01T10:00:00+00:00",
        )
        record_call(
            engine,
            model="claude-opus-4-5",
            usage={"input_tokens": 10_000, "cache_creation_input_tokens": 2_000, "output_tokens": 500},
            purpose="summary",
            thread=tides,
            turn=2,
            task="tides",
            at="2026-11-04T10:00:00+00:00",
        )
        record_call(
            engine,
            model="a-model-of-my-own",
            usage={"input": 900, "output": 10},
            purpose="answer",
            at="2026-11-04T11:00:00+00:00",
        )
    return cli


def test_cost_before_any_call(cli: Cli) -> None:
    """Says so without a store and without calls; creates no store."""
    assert "No model calls yet" in cli.ok("cost").out
    assert cli.ok("cost", "--json").json["total"]["calls"] == 0
    assert not cli.store.exists()
    cli.ok("new", "Talk")
    assert "No model calls yet" in cli.ok("cost").out
    assert "还没有模型调用" in cli.ok("cost", "--lang", "zh").out
    assert "No matching model calls" in cli.ok("cost", "last").out


def test_cost_by_model_has_bars_and_names_unpriced_calls(spent: Cli) -> None:
    """The dearest first; a call without a price has a question mark and is named below."""
    shown = spent.ok("cost", COLUMNS="80").out
    lines = shown.splitlines()
    assert [line.split()[0] for line in lines[:4]] == [
        "model",
        "claude-opus-4-5",
        "gpt-5",
        "a-model-of-my-own",
    ]
    assert "$0.075" in lines[1]
    assert "$0.053" in lines[2] or "$0.052" in lines[2]
    assert "█" in lines[1]
    assert lines[3].rstrip().endswith("?")
    assert "3 calls" in shown
    assert "$0.128+" in shown or "$0.127+" in shown
    assert "1 call has no known price and is not in the total (a-model-of-my-own)" in " ".join(shown.split())


@pytest.mark.parametrize("by", ["model", "thread", "day", "purpose", "turn", "task"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_table_fits_into_80_columns(spent: Cli, by: str, language: str) -> None:
    shown = spent.ok("cost", "--by", by, "--lang", language, COLUMNS="80", BACKSCROLL_DAY_LIMIT="5").out
    assert [line for line in shown.splitlines() if width(line) > 80] == []


def test_days_without_calls_are_shown(spent: Cli) -> None:
    """A gap in the calendar is seen as one."""
    lines = spent.ok("cost", "--by", "day").out.splitlines()
    assert [line.split()[0] for line in lines[1:5]] == [
        "2026-11-01",
        "2026-11-02",
        "2026-11-03",
        "2026-11-04",
    ]


def test_call_without_an_answer_is_reported(spent: Cli) -> None:
    """The total includes its maximum cost, and both languages say so."""
    with backscroll.open(spent.store) as engine:
        record_asked(engine, model="gpt-5", counted=1234, reserve=1000)
    shown = " ".join(spent.ok("cost").out.split())
    assert (
        "1 call without an answer (interrupted, or still running), about 1,234 tokens, at most $0.012"
        in shown
    )
    assert "without an answer" in spent.ok("cost", "--by", "purpose").out
    assert "有 1 次调用没有得到回答" in spent.ok("cost", "--lang", "zh").out
    total = spent.ok("cost", "--json").json["total"]
    assert (total["unanswered"], total["unanswered_tokens"], total["unanswered_usd"]) == (1, 1234, 0.0115425)


def test_cost_in_chinese(spent: Cli) -> None:
    shown = spent.ok("cost", "--by", "purpose", "--lang", "zh").out
    assert "用途" in shown
    assert "回答" in shown
    assert "有 1 次调用没有价格" in shown


def test_cost_of_one_thread(spent: Cli) -> None:
    """Shows the purposes, and only the calls of the thread."""
    shown = spent.ok("cost", "last").out
    assert "2 calls" in shown
    assert "a-model-of-my-own" not in shown
    assert "summary" in shown
    assert "修复潮汐表的时区问题" in spent.ok("cost", "--by", "thread").out


def test_cost_between_two_times(spent: Cli) -> None:
    found = spent.ok("cost", "--since", "2026-11-02", "--until", "2026-11-04", "--json").json
    assert found["total"]["calls"] == 2
    assert spent.ok("cost", "--until", "2026-11-01", "--json").json["total"]["calls"] == 1
    assert "No matching model calls" in spent.ok("cost", "--until", "2020-01-01").out


def test_cost_as_json(spent: Cli) -> None:
    """All figures, exact; an unknown price is null."""
    found = spent.ok("cost", "--json", BACKSCROLL_DAY_LIMIT="2.5").json
    groups = {g["model"]: g for g in found["groups"]}
    assert groups["gpt-5"] == {
        "model": "gpt-5",
        "calls": 1,
        "input": 80_000,
        "cached": 60_000,
        "written": 0,
        "output": 2_000,
        "reasoning": 0,
        "usd": 0.0525,
        "unpriced": 0,
        "estimated": 0,
        "unanswered": 0,
        "unanswered_tokens": 0,
        "unanswered_usd": 0.0,
    }
    assert groups["a-model-of-my-own"]["usd"] is None
    assert found["unpriced_models"] == ["a-model-of-my-own"]
    assert found["limits"] == [{"scope": "day", "usd": 2.5, "spent_usd": 0.0, "left_usd": 2.5, "unpriced": 0}]


def test_corrected_estimates_are_reported(spent: Cli) -> None:
    """They explain why a budget shrank."""
    with backscroll.open(spent.store) as engine:
        usage = {"input_tokens": 13_000, "output_tokens": 5}
        record_call(engine, model="claude-opus-4-5", usage=usage, purpose="answer", counted=10_000)
    assert "claude-opus-4-5 ×1.3" in spent.ok("cost").out
    assert spent.ok("cost", "--json").json["corrections"] == {"claude-opus-4-5": {"ratio": 1.3, "calls": 1}}


def test_limits_are_shown_with_the_remainder(spent: Cli) -> None:
    shown = spent.ok("cost", "last", BACKSCROLL_THREAD_LIMIT="0.2", BACKSCROLL_DAY_LIMIT="5").out
    assert "of $0.20" in shown
    assert "today's limit" in shown
    over = spent.ok("cost", "last", BACKSCROLL_THREAD_LIMIT="0.1").out
    assert "$0.00 left" in over


def test_cost_refuses_bad_input(spent: Cli, tmp_path: Path) -> None:
    """Bad options, an unknown thread and a broken price table: an error with a hint."""
    assert spent("cost", "--by", "colour").code == 2
    assert spent("cost", "--since", "soon").code == 2
    assert spent("cost", "ffff").code == 4
    table = tmp_path / "prices.toml"
    table.write_text('[[model]]\nmatch = "a"\ninput = -1\noutput = 1\n', encoding="utf-8")
    done = spent("cost", BACKSCROLL_PRICES=str(table))
    assert done.code == 2
    assert f"price table {table}, line 3, input: is negative" in done.err
    told = spent("cost", "--lang", "zh", BACKSCROLL_PRICES=str(table)).err
    assert "第 3 行，input：是负数" in told
