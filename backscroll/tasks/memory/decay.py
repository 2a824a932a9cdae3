"""Fading of memories: unused ones lose weight over time, never all of it; use slows this down.

Owns the arithmetic. Nothing is erased: a faded memory ranks lower, and counts in full again once it is used or stated
again. Not here: the clock; the time is passed in.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from backscroll.tasks.memory.tuning import HALF, LEAST
from backscroll.vocab.task import Memory, MemoryKind
from backscroll.vocab.values.moment import microseconds

_DAY = 86_400 * 1_000_000


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """How often a memory was useful, and when last."""

    times: int
    last: str


def weight(kind: MemoryKind, since: str, now: str, uses: int = 0) -> float:
    """Return the weight of a memory last stated or used at that time; every use slows the fading."""
    if not since:
        return 1.0
    days = max(0.0, (microseconds(now) - microseconds(since)) / _DAY)
    return round(LEAST + (1.0 - LEAST) * 0.5 ** (days / (HALF[kind] * (1 + uses))), 4)


def fade_memory(memory: Memory, now: str, use: MemoryUse | None = None) -> Memory:
    """Return a memory with its current weight; a pinned one does not fade."""
    times = 0 if use is None else use.times
    if memory.pinned:
        return replace(memory, weight=1.0, uses=times)
    since = memory.at
    if use is not None and use.last and (not since or microseconds(use.last) > microseconds(since)):
        since = use.last
    return replace(memory, weight=weight(memory.kind, since, now, times), uses=times)
