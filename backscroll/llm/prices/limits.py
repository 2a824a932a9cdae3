"""Spending limits: decide whether a call may be made.

Owns the decision from the amount spent, the expected cost of the call, and the limit. The ledger is read by
`engine/budget/costs`. A call whose price is unknown is stopped only by what is already spent, and the verdict says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from backscroll.errors import BudgetExceeded, InvalidInput

State: TypeAlias = Literal["ok", "warn", "stop"]
NANO = 1_000_000_000  # in a US dollar


@dataclass(frozen=True, slots=True)
class Limit:
    """One limit and the amount spent under it, in billionths of a US dollar."""

    scope: Literal["thread", "day"]
    allowed: int
    spent: int
    unpriced: int = 0  # calls under it whose price is unknown

    @property
    def left(self) -> int:
        """The amount that may still be spent."""
        return max(0, self.allowed - self.spent)

    def state(self, expected: int, warn_at: float) -> State:
        """Return the state of the limit after a call of this expected cost."""
        after = self.spent + expected
        if self.spent >= self.allowed or after > self.allowed:
            return "stop"
        return "warn" if after >= warn_at * self.allowed else "ok"


@dataclass(frozen=True, slots=True)
class LimitCheck:
    """The decision about a call, with the limits it is based on."""

    state: State
    limits: tuple[Limit, ...] = ()
    expected: int | None = 0  # None: the cost of the call is unknown
    reached: Limit | None = None  # the limit that warns or stops, if any

    def enforce(self) -> LimitCheck:
        """Return the decision; raise if it is to stop."""
        if self.state != "stop" or self.reached is None:
            return self
        limit, spent = dollars(self.reached.allowed), dollars(self.reached.spent)
        what = (
            f"this thread has cost {spent} of {limit}"
            if self.reached.scope == "thread"
            else f"today's calls have cost {spent} of {limit}"
        )
        if self.expected:
            what = f"{what}, and the next call would cost about {dollars(self.expected)}"
        hint = (
            "raise the setting `thread_limit`, or set it to 0 for no limit"
            if self.reached.scope == "thread"
            else "raise the setting `day_limit`, set it to 0 for no limit, or go on tomorrow"
        )
        raise BudgetExceeded(
            what, hint=hint, scope=self.reached.scope, allowed=self.reached.allowed, spent=self.reached.spent
        )


def judge_limits(limits: Sequence[Limit], expected: int | None, warn_at: float) -> LimitCheck:
    """Check a call against all limits; the strictest decides."""
    if expected is not None and expected < 0:
        raise InvalidInput("a call cannot be expected to cost less than nothing", hint="give 0 or more")
    for state in ("stop", "warn"):
        for limit in limits:
            if limit.state(expected or 0, warn_at) == state:
                return LimitCheck(state, tuple(limits), expected, limit)
    return LimitCheck("ok", tuple(limits), expected)


def dollars(nano: int) -> str:
    """Format an amount: to the cent, smaller ones with two significant digits."""
    value = nano / NANO
    if value == 0 or value >= 0.995:
        return f"${value:,.2f}"
    if value >= 0.01:
        return f"${value:.3f}".removesuffix("0")
    return f"${value:.6f}" if value >= 0.000001 else "<$0.000001"


def in_nano(amount: float) -> int:
    """Convert US dollars to billionths."""
    return round(amount * NANO)
