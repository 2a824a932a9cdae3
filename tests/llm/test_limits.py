"""Spending limits: whether a call may be made."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.errors import BudgetExceeded, InvalidInput
from backscroll.llm.prices.limits import NANO, Limit, dollars, in_nano, judge_limits

DAY = Limit("day", 10 * NANO, 0)


@pytest.mark.parametrize(
    ("spent", "expected", "state"),
    [
        (0, 0, "ok"),
        (7.9, 0, "ok"),
        (8, 0, "warn"),
        (7, 1, "warn"),
        (7, 3, "warn"),
        (7, 3.01, "stop"),
        (10, 0, "stop"),
    ],
)
def test_limit_warns_before_it_stops(spent: float, expected: float, state: str) -> None:
    limit = Limit("day", 10 * NANO, in_nano(spent))
    assert judge_limits([limit], in_nano(expected), 0.8).state == state


def test_no_limits_allow_any_spending() -> None:
    verdict = judge_limits([], 10**15, 0.8)
    assert verdict.state == "ok"
    assert verdict.enforce() is verdict


def test_strictest_limit_decides() -> None:
    thread, day = Limit("thread", NANO, NANO), Limit("day", 100 * NANO, 90 * NANO)
    verdict = judge_limits([day, thread], 0, 0.8)
    assert (verdict.state, verdict.reached) == ("stop", thread)


def test_call_of_unknown_price_is_stopped_only_by_past_spending() -> None:
    assert judge_limits([DAY], None, 0.8).state == "ok"
    assert judge_limits([Limit("day", NANO, NANO)], None, 0.8).state == "stop"


def test_error_says_what_was_spent_and_what_to_do() -> None:
    verdict = judge_limits([Limit("thread", 2 * NANO, in_nano(1.5))], in_nano(0.75), 0.8)
    with pytest.raises(BudgetExceeded) as error:
        verdict.enforce()
    assert (
        error.value.message == "this thread has cost $1.50 of $2.00, and the next call would cost about $0.75"
    )
    assert "thread_limit" in error.value.hint
    assert error.value.exit_code == 11


def test_error_names_the_day_limit() -> None:
    with pytest.raises(BudgetExceeded, match="today's calls have cost"):
        judge_limits([Limit("day", NANO, 2 * NANO)], 0, 0.8).enforce()


def test_negative_cost_is_refused() -> None:
    with pytest.raises(InvalidInput):
        judge_limits([DAY], -1, 0.8)


@given(st.integers(1, 10**12), st.integers(0, 10**12), st.integers(0, 10**12))
def test_limit_stops_exactly_the_calls_that_would_exceed_it(allowed: int, spent: int, expected: int) -> None:
    verdict = judge_limits([Limit("day", allowed, spent)], expected, 0.8)
    assert (verdict.state == "stop") == (spent >= allowed or spent + expected > allowed)


@pytest.mark.parametrize(
    ("nano", "text"),
    [
        (0, "$0.00"),
        (1, "<$0.000001"),
        (5_500_000, "$0.005500"),
        (123_000_000, "$0.123"),
        (120_000_000, "$0.12"),
        (999_000_000, "$1.00"),
        (12_345_678_900_000, "$12,345.68"),
    ],
)
def test_dollars_are_formatted(nano: int, text: str) -> None:
    assert dollars(nano) == text
