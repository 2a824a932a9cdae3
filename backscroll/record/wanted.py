"""What a reader of a store is asked for: which messages a search may find, which part of a history to read.

Nouns only. Before: `vocab/ids`. After: `record/ports`.
"""

from __future__ import annotations

from dataclasses import dataclass

from backscroll.vocab.ids import Ref


@dataclass(frozen=True, slots=True)
class Wanted:
    """Filters of a search."""

    threads: tuple[str, ...] | None = None  # only events of these threads' own logs
    project: str | None = None
    kind: str | None = None
    roles: tuple[str, ...] = ()
    since_us: int | None = None
    until_us: int | None = None
    tool: str | None = None
    users: tuple[str, ...] | None = None  # only threads of these users; "": threads that belong to none


@dataclass(frozen=True, slots=True)
class RawHit:
    """A revision that fits a search, best first."""

    revision: Ref
    message: Ref
    role: str
    said: str
    score: float


@dataclass(frozen=True, slots=True)
class Bounds:
    """Which part of a thread's own entries to read: positions strictly between `after` and `before`, as of an event."""

    as_of: int
    after: bytes | None = None
    before: bytes | None = None
    upto: bytes | None = None  # inclusive upper limit, for the shared past of a fork

    def hold(self, position: bytes) -> bool:
        """True where a position lies within."""
        low = self.after is None or position > self.after
        high = self.before is None or position < self.before
        return low and high and (self.upto is None or position <= self.upto)
