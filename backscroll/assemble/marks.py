"""When a compaction is worth it: prices, marks, and the one question asked before every prompt.

Falling back to L tokens every k calls while growing by g a call costs about wL/k + rL + rgk/2 + wg a call (read price r, write price
w), so the best high mark is L + √(2wLg/r). Where growth is lumpy the best mark comes earlier. Owns arithmetic only.
Before: `llm` knows prices and windows. After: `assemble/policy` compacts.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from backscroll.assemble.compaction import Reason
from backscroll.config import Settings

MUST = 0.97  # of the budget: no room for another message
EARLY = 0.8  # of the distance that smooth growth allows; giants are cut when they come, so growth is nearly smooth
LOW = 0.45  # of the room beside what is protected: what a compaction leaves
GIANT = 0.135  # of that room, for a budget of SMALL tokens: a fresh step that is larger is cut at once
SMALL = 8000
GROWS = 0.25  # the share of a fresh step grows with this power of the budget
LEAST_CAP = 300  # tokens that a fresh step may always take
WORTH = 0.25  # a compaction that is free should still take away this share
LEAST = 0.12  # hysteresis: never again before the prompt has grown by this share


@dataclass(frozen=True, slots=True)
class Prices:
    """What a token costs beside a plain token of input."""

    read: float = 0.1
    write: float = 1.25
    output: float = 5.0


@dataclass(frozen=True, slots=True)
class Marks:
    """Compact when the prompt passes `high` tokens; aim at `low`."""

    high: int
    low: int


def marks(budget: int, growth: float, kept: float, prices: Prices, settings: Settings | None = None) -> Marks:
    """The marks for a prompt that grows by `growth` tokens a call and falls back to `kept`."""
    settings = settings or Settings()
    low = settings.low * budget if settings.low else kept
    if settings.high:
        high = settings.high * budget
    else:
        read = max(prices.read, 1e-6)
        high = low + EARLY * sqrt(2 * prices.write * max(low, 1.0) * max(growth, 1.0) / read)
    return Marks(int(min(high, MUST * budget)), int(low))


def aim(budget: int, fixed: int, settings: Settings | None = None) -> int:
    """What a compaction should leave, `fixed` (tokens of what is protected) included."""
    low = settings.low if settings and settings.low else LOW
    return int(fixed + low * max(budget - fixed, 0))


def cap(budget: int, fixed: int) -> int:
    """What a fresh step may take before its results are cut."""
    share = GIANT * (max(budget, 1) / SMALL) ** GROWS
    return int(max(share * (budget - fixed), LEAST_CAP))


def decide(
    tokens_now: int,
    budget: int,
    growth: float,
    kept: float,
    prices: Prices,
    *,
    idle_seconds: float = 0.0,
    cache_seconds: float = 300.0,
    settings: Settings | None = None,
) -> Reason | None:
    """Whether to compact before this call, and why. `kept` is what the last compaction left, or what one would leave now."""
    if tokens_now > MUST * budget:
        return "must"
    if tokens_now < kept * (1 + LEAST):
        return None
    bounds = marks(budget, growth, kept, prices, settings)
    if tokens_now > bounds.high:
        return "pays"
    if idle_seconds > cache_seconds and tokens_now > bounds.low * (1 + WORTH):
        return "free"
    return None
