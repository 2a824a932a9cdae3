"""When to compact: the arithmetic of prices, and the limits around it."""

from __future__ import annotations

from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.assemble.compaction.marks import (
    Prices,
    aim,
    cap,
    compute_full_budget,
    decide,
    fits_whole,
    marks,
)
from backscroll.assemble.compaction.tuning import EARLY, LEAST_CAP, MUST
from backscroll.config import Settings

PRICES = Prices()


def test_the_high_mark_follows_the_price_model() -> None:
    """L + EARLY·√(2wLg/r), as long as the budget allows."""
    found = marks(1_000_000, 800.0, 10_000, PRICES)
    assert found.low == 10_000
    assert found.high == int(10_000 + EARLY * sqrt(2 * 1.25 * 10_000 * 800 / 0.1))
    assert marks(12_000, 800.0, 10_000, PRICES).high == int(MUST * 12_000)


def test_higher_cache_read_price_compacts_earlier() -> None:
    """Where a cached token costs more, keeping it is worth less."""
    assert marks(10**6, 800.0, 10_000, Prices(read=0.5)).high < marks(10**6, 800.0, 10_000, PRICES).high
    assert marks(10**6, 800.0, 10_000, Prices(read=0.0)).high == int(MUST * 10**6)


def test_configured_watermarks_take_precedence() -> None:
    """Shares of the budget from the settings are taken as they are."""
    found = marks(10_000, 800.0, 3_000, PRICES, Settings(high=0.7, low=0.2))
    assert (found.high, found.low) == (7000, 2000)


@pytest.mark.parametrize(
    ("tokens", "idle", "reason"),
    [
        (9_800, 0, "must"),
        (9_800, 10**6, "must"),
        (9_000, 0, "pays"),
        (6_000, 0, None),
        (6_000, 301, "free"),
        (6_000, 299, None),
        (4_400, 10**6, None),  # hysteresis: just compacted
        (4_700, 10**6, None),  # too little to take away
    ],
)
def test_reasons_to_compact(tokens: int, idle: float, reason: str | None) -> None:
    """Near the limit it must, beyond the high mark it pays, after the cache went cold it is free; else not."""
    found = decide(tokens, 10_000, 100.0, 4_000, PRICES, idle_seconds=idle, settings=Settings(high=0.85))
    assert found == reason


@given(st.integers(1, 10**7), st.integers(0, 10**7))
def test_the_aim_lies_between_what_is_fixed_and_the_budget(budget: int, fixed: int) -> None:
    """A compaction never aims below what is protected, nor above the budget where that holds it."""
    target = aim(budget, fixed)
    assert target >= fixed
    assert target <= max(budget, fixed)
    assert aim(budget, 0, Settings(low=0.2)) == int(0.2 * budget)


@given(st.integers(1, 10**6), st.integers(0, 10**6), st.integers(0, 10**6))
def test_what_is_fresh_forces_a_compaction_only_where_it_does_not_fit(
    seen: int, fresh: int, budget: int
) -> None:
    """Whether it pays is asked of what was seen alone, so a giant is never a reason by itself."""
    found = decide(seen + fresh, budget, 100.0, 1000, PRICES, fresh=fresh)
    assert (found == "must") is (seen + fresh > MUST * budget)
    if found != "must":
        assert found == decide(seen, budget, 100.0, 1000, PRICES)


@given(st.integers(1, 10**6), st.integers(0, 10**6), st.integers(0, 10**6))
def test_the_past_makes_room_for_what_is_fresh(budget: int, fixed: int, fresh: int) -> None:
    """Where it fits whole, the aim is within what may be filled, and something is left for the past."""
    target = aim(budget, fixed, fresh=fresh, whole=fits_whole(budget, fixed, fresh))
    if fits_whole(budget, fixed, fresh):
        assert fixed + fresh <= target <= compute_full_budget(budget) <= MUST * budget
    else:
        assert target == aim(budget, fixed) + fresh


@given(st.integers(1, 10**7))
def test_a_giant_may_always_keep_a_little(budget: int) -> None:
    """The cap for steps that were seen grows with the budget and never falls below its floor."""
    assert cap(budget, 0) >= LEAST_CAP
    assert cap(2 * budget, 0) >= cap(budget, 0)
    assert cap(budget, budget + 1) == LEAST_CAP
