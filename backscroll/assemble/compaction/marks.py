"""Compaction watermarks: prices, marks, and the decision before every prompt.

Falling back to L tokens every k calls while growing by g a call costs about wL/k + rL + rgk/2 + wg a call (read price r, write
price w), so the best high mark is L + √(2wLg/r). Where growth is lumpy the best mark comes earlier. Owns arithmetic only.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from backscroll.assemble.compaction.tuning import (
    BESIDE,
    EARLY,
    FREE_WORTH,
    FULL,
    GIANT_GROWTH,
    GIANT_STEP,
    LEAST_CAP,
    LEAST_GROWTH,
    LOW,
    MOST_LOW,
    MUST,
    PART,
    SMALL_BUDGET,
    SQUEEZED,
)
from backscroll.assemble.view.compaction import Reason
from backscroll.config import Settings


@dataclass(frozen=True, slots=True)
class Prices:
    """Token prices relative to a plain input token."""

    read: float = 0.1
    write: float = 1.25
    output: float = 5.0


@dataclass(frozen=True, slots=True)
class Watermarks:
    """Compact when the prompt passes `high` tokens; aim at `low`."""

    high: int
    low: int


def marks(
    budget: int, growth: float, kept: float, prices: Prices, settings: Settings | None = None
) -> Watermarks:
    """Return the marks for a prompt that grows by `growth` tokens a call and falls back to `kept`."""
    settings = settings or Settings()
    low = settings.low * budget if settings.low else kept
    if settings.high:
        high = settings.high * budget
    else:
        read = max(prices.read, 1e-6)
        high = low + EARLY * sqrt(2 * prices.write * max(low, 1.0) * max(growth, 1.0) / read)
    return Watermarks(int(min(high, MUST * budget)), int(low))


def aim(
    budget: int, fixed: int, settings: Settings | None = None, *, fresh: int = 0, whole: bool = False
) -> int:
    """Return the target size of a compaction, including `fixed` (tokens of what is protected) and `fresh` (of what the model has
    not seen).

    With `whole` the fresh part stays whole: the past makes room for it. Otherwise the past keeps its share, and the fresh
    part has to be cut if both together are too much.
    """
    low = settings.low if settings and settings.low else usual_low(budget)
    past = min(low, FULL) * max(budget - fixed, 0)
    if whole:
        past = min(past, max(compute_full_budget(budget) - fixed - fresh, 0))
    return int(fixed + fresh + past)


def usual_low(budget: int) -> float:
    """Return the share of the room that a compaction leaves to the past: more if the budget is so small that little else fits."""
    return min(MOST_LOW, LOW * sqrt(max(1.0, SMALL_BUDGET / max(budget, 1))))


def compute_full_budget(budget: int) -> int:
    """Return the maximum size of a prompt with a newest step as large as possible; the rest is for the overhead of a wire."""
    return int(FULL * budget - min(BESIDE, 0.05 * budget))


def fits_whole(budget: int, fixed: int, fresh: int) -> bool:
    """Return True if the newest step fits whole once the past is condensed far enough."""
    return fresh <= compute_full_budget(budget) - fixed - SQUEEZED * max(budget - fixed, 0)


def cap(budget: int, fixed: int) -> int:
    """Return the maximum size of a step in the tail of a compaction, once it was seen whole."""
    share = GIANT_STEP * (max(budget, 1) / SMALL_BUDGET) ** GIANT_GROWTH
    return int(max(share * (budget - fixed), LEAST_CAP))


def part(budget: int, fixed: int, free: int, results: int) -> int:
    """Return the size of a step that cannot be shown whole, by its number of results: what is free, but not all of it for one result."""
    share = max(PART * max(budget - fixed, 0), cap(budget, fixed))
    return int(min(free, results * share))


def decide(
    tokens_now: int,
    budget: int,
    growth: float,
    kept: float,
    prices: Prices,
    *,
    fresh: int = 0,
    idle_seconds: float = 0.0,
    cache_seconds: float = 300.0,
    settings: Settings | None = None,
) -> Reason | None:
    """Return whether to compact before this call, and why.

    `kept` is what the last compaction left, or what one would leave now. `fresh` are tokens that the model has not seen yet: they
    are whole in this prompt, so they are no reason to compact before it, unless it would not fit.
    """
    if tokens_now > MUST * budget:
        return "must"
    tokens_now -= fresh
    if tokens_now < kept * (1 + LEAST_GROWTH):
        return None
    bounds = marks(budget, growth, kept, prices, settings)
    if tokens_now > bounds.high:
        return "pays"
    if idle_seconds > cache_seconds and tokens_now > bounds.low * (1 + FREE_WORTH):
        return "free"
    return None
