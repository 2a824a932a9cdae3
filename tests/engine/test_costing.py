"""The ledger: every call is on it, sums are right, limits hold."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import backscroll
from backscroll.engine.budget.costs import (
    GROUPS,
    calls,
    check_limits,
    expected_cost,
    price_of,
    record_asked,
    record_call,
    spending,
    window_of,
)
from backscroll.engine.budget.counts import correction, corrections_of
from backscroll.errors import BudgetExceeded, InvalidInput, NotFound
from backscroll.llm.prices.ledger import Tokens

ANTHROPIC = {
    "input_tokens": 100,
    "cache_read_input_tokens": 5000,
    "cache_creation_input_tokens": 200,
    "output_tokens": 50,
}
OPENAI = {
    "prompt_tokens": 5300,
    "completion_tokens": 50,
    "prompt_tokens_details": {"cached_tokens": 5000},
}


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[backscroll.Engine]:
    """An empty store."""
    with backscroll.open(tmp_path / "store.db") as opened:
        yield opened


def call(engine: backscroll.Engine, **more: Any) -> Any:
    given_call: dict[str, Any] = {"model": "gpt-5", "usage": OPENAI, "purpose": "answer"}
    return record_call(engine, **{**given_call, **more})


def test_call_is_recorded_with_its_price(engine: backscroll.Engine) -> None:
    thread = engine.create("Talk")
    charge = record_call(
        engine,
        model="claude-opus-4-5",
        usage=ANTHROPIC,
        purpose="summary",
        thread=thread,
        task="t1",
        turn=3,
        provider="anthropic",
        at="2026-11-01T23:59:00+08:00",
    )
    assert (charge.input, charge.cached, charge.written, charge.output) == (5300, 5000, 200, 50)
    assert charge.nano == 100 * 5000 + 5000 * 500 + 200 * 6250 + 50 * 25_000
    assert (charge.day, charge.turn, charge.task, charge.estimated) == ("2026-11-01", 3, "t1", False)
    assert calls(engine) == [charge]


def test_usage_of_different_vendors_is_normalised(engine: backscroll.Engine) -> None:
    """Anthropic's input excludes cached tokens, OpenAI's includes them."""
    one, other = call(engine, usage=ANTHROPIC), call(engine, usage=OPENAI)
    assert (one.input, one.cached) == (other.input, other.cached)


def test_unknown_price_is_counted_apart(engine: backscroll.Engine) -> None:
    assert call(engine, model="nobody-knows-me").nano is None
    call(engine)
    (total,) = spending(engine)
    assert (total.calls, total.unpriced) == (2, 1)
    assert total.nano == call(engine).nano


def test_open_call_is_on_the_ledger(engine: backscroll.Engine) -> None:
    """For its prompt, and for the most that it can cost; the limits count it; what came of it takes its place."""
    thread = engine.create("Talk")
    out = record_asked(engine, model="gpt-5", counted=1000, reserve=200, thread=thread, task="t1", turn=2)
    assert (out.input, out.output, out.estimated, out.purpose) == (1000, 0, True, "unanswered")
    assert out.nano == 1000 * 1250 + 200 * 10_000
    (total,) = spending(engine, thread=thread)
    assert (total.calls, total.unanswered, total.unanswered_tokens) == (1, 1, 1000)
    assert (total.nano, total.unanswered_nano) == (out.nano, out.nano)
    settled = call(engine, thread=thread, task="t1", turn=2, settles=out)
    assert calls(engine) == [settled]
    (total,) = spending(engine, thread=thread)
    assert (total.calls, total.unanswered, total.estimated, total.nano) == (1, 0, 0, settled.nano)


def test_failed_settling_leaves_the_open_call(engine: backscroll.Engine) -> None:
    """If the answer cannot be recorded, the call stays on the ledger as unanswered."""
    out = record_asked(engine, model="gpt-5", counted=10)

    def breaks(_tx: Any) -> None:
        raise InvalidInput("no room")

    with pytest.raises(InvalidInput):
        call(engine, settles=out, also=breaks)
    assert calls(engine) == [out]


def test_open_call_without_a_price(engine: backscroll.Engine) -> None:
    out = record_asked(engine, model="nobody-knows-me", counted=10, reserve=10)
    assert out.nano is None
    (total,) = spending(engine)
    assert (total.unanswered, total.unpriced, total.unanswered_nano) == (1, 1, 0)


def test_failed_calls_and_retries_are_recorded(engine: backscroll.Engine) -> None:
    """One that failed before anything was said costs nothing; one that succeeded unreported has no price."""
    assert call(engine, usage=None, purpose="failed").nano == 0
    assert call(engine, usage=None, purpose="answer").nano is None
    estimated = call(engine, usage=Tokens(input=1000, estimated=True), purpose="retry")
    assert estimated.estimated
    assert estimated.nano == 1000 * 1250
    assert {s.group[0]: s.calls for s in spending(engine, "purpose")} == {
        "answer": 1,
        "failed": 1,
        "retry": 1,
    }


def test_reported_cost_takes_precedence(engine: backscroll.Engine) -> None:
    charge = call(
        engine, model="some/model", usage={"prompt_tokens": 9, "completion_tokens": 1, "cost": 0.0125}
    )
    assert charge.nano == 12_500_000


def test_recorded_price_does_not_change(tmp_path: Path) -> None:
    """A new table changes later calls, not the ledger."""
    table = tmp_path / "prices.toml"
    table.write_text('[[model]]\nmatch = "mine"\ninput = 1\noutput = 1\n', encoding="utf-8")
    with backscroll.open(tmp_path / "store.db", prices=str(table)) as engine:
        call(engine, model="mine", usage={"input": 1000, "output": 0})
        table.write_text('[[model]]\nmatch = "mine"\ninput = 20\noutput = 1\n', encoding="utf-8")
        call(engine, model="mine", usage={"input": 1000, "output": 0})
        assert sorted(c.nano or 0 for c in calls(engine)) == [1_000_000, 20_000_000]


def test_call_is_recorded_despite_a_broken_price_table(tmp_path: Path) -> None:
    """The call has no price; methods that need prices report the table."""
    table = tmp_path / "prices.toml"
    table.write_text("[[model]\n", encoding="utf-8")
    with backscroll.open(tmp_path / "store.db", prices=str(table)) as engine:
        assert call(engine).nano is None
        with pytest.raises(InvalidInput, match=r"prices\.toml is not TOML"):
            expected_cost(engine, "gpt-5", input=10)
        with pytest.raises(InvalidInput):
            window_of(engine, "gpt-5")


def test_recorded_call_corrects_later_estimates(engine: backscroll.Engine) -> None:
    call(engine, model="claude-opus-5", usage={"input_tokens": 13_000, "output_tokens": 1}, counted=10_000)
    assert correction(engine, "claude-opus-5") == 1.3
    assert corrections_of(engine, ["gpt-5", "claude-opus-5", "claude-sonnet-5", ""]).keys() == {
        "claude-opus-5"
    }
    call(engine, model="claude-haiku-5-5", usage=None, counted=10_000)
    assert correction(engine, "claude-haiku-5-5") == 1.0


@pytest.mark.parametrize(
    "wrong",
    [
        {"usage": {"input": -1}},
        {"usage": {"prompt_tokens": "many"}},
        {"usage": 3},
        {"purpose": " "},
        {"turn": -1},
        {"at": "soon"},
    ],
    ids=str,
)
def test_invalid_call_is_refused(engine: backscroll.Engine, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as error:
        call(engine, **wrong)
    assert error.value.hint
    assert calls(engine) == []


def test_call_of_a_missing_thread_is_kept(engine: backscroll.Engine) -> None:
    assert call(engine, thread="ab" * 16).thread == "ab" * 16
    with pytest.raises(NotFound):
        call(engine, thread="abcd")


# -- sums --------------------------------------------------------------------------------------------------------


def test_spending_groups_by_any_field(engine: backscroll.Engine) -> None:
    thread = engine.create("Talk")
    call(engine, thread=thread, turn=1, task="a", provider="openai", at="2026-11-01T10:00:00+00:00")
    call(engine, thread=thread, turn=2, task="a", model="gpt-5-mini", at="2026-11-02T10:00:00+00:00")
    call(engine, purpose="summary", at="2026-11-02T11:00:00+00:00")
    groups = {name: {s.group[0]: s.calls for s in spending(engine, name)} for name in GROUPS}
    assert groups == {
        "model": {"gpt-5": 2, "gpt-5-mini": 1},
        "provider": {"": 2, "openai": 1},
        "purpose": {"answer": 2, "summary": 1},
        "thread": {"": 1, thread.id: 2},
        "task": {"": 1, "a": 2},
        "turn": {"": 1, "1": 1, "2": 1},
        "day": {"2026-11-01": 1, "2026-11-02": 2},
    }
    assert {s.group for s in spending(engine, ["day", "purpose"])} == {
        ("2026-11-01", "answer"),
        ("2026-11-02", "answer"),
        ("2026-11-02", "summary"),
    }


def test_spending_filters_by_time_and_thread(engine: backscroll.Engine) -> None:
    thread = engine.create("Talk")
    for hour in range(4):
        call(engine, thread=thread if hour % 2 else None, at=f"2026-11-01T0{hour}:00:00+00:00")
    since, until = "2026-11-01T01:00:00+00:00", "2026-11-01T02:00:00+00:00"
    assert spending(engine, since=since, until=until)[0].calls == 2  # both ends included
    assert spending(engine, since=since, until=until, thread=thread)[0].calls == 1
    assert len(calls(engine, thread=thread.id[:8])) == 2
    assert len(calls(engine, limit=1)) == 1


def test_empty_ledger_has_no_spending(engine: backscroll.Engine) -> None:
    assert spending(engine, "model") == []
    assert calls(engine) == []
    assert check_limits(engine).state == "ok"


@pytest.mark.parametrize("wrong", ["colour", ["model", "colour"]])
def test_spending_by_an_unknown_field_is_refused(engine: backscroll.Engine, wrong: Any) -> None:
    with pytest.raises(InvalidInput, match="not summed by 'colour'"):
        spending(engine, wrong)
    with pytest.raises(InvalidInput):
        calls(engine, limit=-1)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["gpt-5", "claude-opus-5", "nobody-knows-me"]),
            st.integers(0, 10**6),
            st.integers(0, 10**6),
            st.sampled_from(["answer", "summary", "retry"]),
        ),
        max_size=8,
    )
)
def test_every_way_of_summing_sums_to_the_same(tmp_path_factory: Any, drawn: list[Any]) -> None:
    """Nothing is lost between the calls and any table made of them."""
    with backscroll.open(tmp_path_factory.mktemp("ledger") / "store.db") as engine:
        for model, taken, given_back, purpose in drawn:
            call(engine, model=model, usage={"input": taken, "output": given_back}, purpose=purpose)
        for name in GROUPS:
            sums = spending(engine, name)
            assert sum(s.calls for s in sums) == len(drawn)
            assert sum(s.input for s in sums) == sum(d[1] for d in drawn)
            assert sum(s.nano for s in sums) == sum(c.nano or 0 for c in calls(engine))
            assert sum(s.unpriced for s in sums) == sum(d[0] == "nobody-knows-me" for d in drawn)


# -- limits ------------------------------------------------------------------------------------------------------


def test_spending_limits_warn_and_stop(tmp_path: Path) -> None:
    with backscroll.open(tmp_path / "store.db", thread_limit=1.0, day_limit=10.0) as engine:
        thread, other = engine.create("Talk"), engine.create("Other")
        assert check_limits(engine, thread).state == "ok"
        call(engine, thread=thread, usage={"input": 720_000, "output": 0})  # 90 cents
        assert check_limits(engine, thread).state == "warn"
        assert check_limits(engine, thread, expected=0.2).state == "stop"
        assert check_limits(engine, other, expected=0.2).state == "ok"
        assert check_limits(engine, expected=9.2).state == "stop"  # the day
        with pytest.raises(BudgetExceeded, match=r"this thread has cost \$0\.90 of \$1\.00"):
            check_limits(engine, thread, expected=0.2).enforce()


def test_day_limit_uses_the_local_day(tmp_path: Path) -> None:
    with backscroll.open(tmp_path / "store.db", day_limit=1.0) as engine:
        now = datetime.fromisoformat(engine.means.now())
        call(engine, usage={"input": 10_000_000, "output": 0}, at=now - timedelta(days=1, hours=1))
        assert check_limits(engine).state == "ok"
        call(engine, usage={"input": 10_000_000, "output": 0}, at=now)
        assert check_limits(engine).state == "stop"


def test_limit_reports_unpriced_calls(tmp_path: Path) -> None:
    with backscroll.open(tmp_path / "store.db", day_limit=1.0) as engine:
        call(engine, model="nobody-knows-me")
        verdict = check_limits(engine, expected=None)
        assert (verdict.state, verdict.limits[0].unpriced) == ("ok", 1)


def test_expected_cost_of_a_call(engine: backscroll.Engine) -> None:
    assert expected_cost(engine, "gpt-5", input=1_000_000, cached=400_000, output=1000) == pytest.approx(0.81)
    assert expected_cost(engine, "nobody-knows-me", input=10) is None


def test_prices_and_windows_follow_the_configured_model(tmp_path: Path) -> None:
    with backscroll.open(tmp_path / "store.db", model="claude-opus-4-5") as engine:
        assert price_of(engine).read == 0.1
        assert window_of(engine).tokens == 200_000
        assert window_of(engine, "gpt-5").tokens == 400_000
