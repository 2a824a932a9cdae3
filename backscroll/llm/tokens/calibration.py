"""How far our token counts are from what a vendor reports: a running ratio per model.

Owns the arithmetic and the shape in which it is kept. The ratio is bounded, moves slowly, ignores small prompts and is rounded up
to steps, so that a prompt does not change with every call. Stored counts stay as they were counted: the ratio is applied to sums
and budgets. Does not store anything (`engine/budget/counts` does).
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from math import ceil, isfinite

from backscroll.errors import InvalidInput

LEAST, MOST = 0.5, 3.0  # what lies outside is a mistake, not a tokenizer
SMALL = 200  # prompts with fewer tokens say more about overhead than about the tokenizer
_STEP = 0.02
_LONGEST = 200  # characters of a name
_MEMORY = 2_000_000.0  # tokens after which older reports count half


@dataclass(frozen=True, slots=True)
class Calibration:
    """Sums of what was counted and what was reported, fading with age."""

    counted: float = 0.0
    reported: float = 0.0
    calls: int = 0

    @property
    def ratio(self) -> float:
        """The factor to multiply a count by."""
        if not self.counted:
            return 1.0
        steps = ceil(round(self.reported / self.counted / _STEP, 6))
        return round(min(MOST, max(LEAST, steps * _STEP)), 4)

    def to_json(self) -> str:
        """Return it as JSON."""
        return json.dumps(asdict(self))


def restore_calibration(text: str | None) -> Calibration:
    """Return what was kept; nothing, or what cannot be read, begins anew."""
    try:
        data = json.loads(text or "{}")
        found = Calibration(float(data["counted"]), float(data["reported"]), int(data["calls"]))
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return Calibration()
    sound = isfinite(found.counted) and isfinite(found.reported) and min(found.counted, found.reported) >= 0
    return found if sound else Calibration()


def update_calibration(before: Calibration, *, counted: int, reported: int) -> Calibration:
    """Return what is known after one more report."""
    if counted < 0 or reported < 0:
        raise InvalidInput(
            f"a call cannot have {min(counted, reported)} tokens", hint="give numbers of 0 or more"
        )
    if counted < SMALL or not LEAST <= reported / counted <= MOST:
        return before
    faded = 0.5 ** (counted / _MEMORY)
    return Calibration(
        round(before.counted * faded + counted, 3),
        round(before.reported * faded + reported, 3),
        before.calls + 1,
    )


def key_of(model: str) -> str:
    """Under which name a model's ratio is kept; what a database could not hold in a name is replaced."""
    return "calibration:" + "".join(c if c.isprintable() else "?" for c in model[:_LONGEST])
