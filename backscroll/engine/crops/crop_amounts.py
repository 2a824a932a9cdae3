"""Find the crop amount nearest to what the user typed that does not separate a call from its result.

A user who types a number cannot know where the calls are. If two amounts are equally near, the smaller one is taken; more
than possible becomes the maximum. `engine/crops/crops` rejects every other amount.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate, takewhile
from typing import TYPE_CHECKING

from backscroll.assemble.compaction.crop import may_go
from backscroll.assemble.view.units import units_of
from backscroll.engine.crops.crops import crops
from backscroll.vocab.message import is_spoken_by_user

if TYPE_CHECKING:
    from backscroll.assemble.view.units import Unit
    from backscroll.engine.core.thread_scope import ThreadScope


def possible_amounts(thread: ThreadScope, direction: str, amount: int) -> tuple[int, int]:
    """Return the possible number of messages nearest to `amount` (0 if none), and the maximum."""
    below = most = 0
    nearest: int | None = None
    for most in accumulate(len(unit.messages) for unit in _going(thread, direction)):
        if most < amount:
            below = most
        elif nearest is None:
            nearest = most if not below or most - amount < amount - below else below
    return below if nearest is None else nearest, most


def _going(thread: ThreadScope, direction: str) -> Iterator[Unit]:
    """Return what can be cropped, in the order of the crop."""
    marks = crops(thread)
    seen = [m for m in thread if not m.hidden and not any(mark.holds(m.id) for mark in marks)]
    latest = next((m.id for m in reversed(seen) if is_spoken_by_user(m)), None)
    units = list(units_of(seen))
    if direction == "bottom":
        after = takewhile(lambda unit: all(m.id != latest for m in unit.messages), reversed(units))
        return (unit for unit in after if may_go(unit, latest))
    return (unit for unit in units if may_go(unit, latest))
