"""Calibrate our token counts against vendors' reports: a running ratio per model.

Owns the arithmetic and the stored form. The ratio is bounded, moves slowly, ignores small prompts and is rounded up in steps,
so that a prompt does not change with every call. Stored counts stay unadjusted: the ratio is applied to sums and budgets.
Storage: `engine/budget/counts`.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from math import ceil, isfinite

from backscroll.errors import InvalidInput

LEAST, MOST = 0.5, 3.0  # values outside are errors, not tokenizer differences
SMALL = 200  # smaller prompts reflect overhead more than the tokenizer
_STEP = 0.02
_LONGEST = 200  # characters of a name
_MEMORY = 2_000_000.0  # tokens after which older reports have half the weight


@dataclass(frozen=True, slots=True)
class Calibration:
    """Decaying sums of counted and reported tokens."""

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
        """Return the stored form as JSON."""
        return json.dumps(asdict(self))


def restore_calibration(text: str | None) -> Calibration:
    """Return a stored calibration; a fresh one if missing or unreadable."""
    try:
        data = json.loads(text or "{}")
        found = Calibration(float(data["counted"]), float(data["reported"]), int(data["calls"]))
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return Calibration()
    sound = isfinite(found.counted) and isfinite(found.reported) and min(found.counted, found.reported) >= 0
    return found if sound else Calibration()


def update_calibration(before: Calibration, *, counted: int, reported: int) -> Calibration:
    """Return the calibration after one more report."""
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
    """Return the storage key of a model's ratio; characters that a database cannot hold are replaced."""
    return "calibration:" + "".join(c if c.isprintable() else "?" for c in model[:_LONGEST])
