"""Quarantine for `verify --repair`: invalid rows are set aside as they are, never dropped.

Owns the shape of what was set aside, and the few things that only a repair may do to a log: take its rows out to put them in
again, and give the row of a thread other values. Refuses policy: what is set aside is decided by `engine/exchange/repair`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from backscroll.record.queries import ThreadState


@dataclass(frozen=True, slots=True)
class QuarantineRow:
    """A row that was taken out of its table."""

    number: int
    at: str
    reason: str
    source: str  # threads, events, blobs or replies
    thread: str  # empty for what belongs to no thread
    seq: int  # of the event; 0 for what is none
    row: str  # its columns as JSON; bytes as hex digits after \\x


class RepairWriter(Protocol):
    """The part of a writer that only a repair uses."""

    def set_aside(self) -> list[QuarantineRow]:
        """Return everything that was ever set aside and not forgotten since, oldest first."""
        ...

    def log_numbers(self, thread: str) -> list[int]:
        """Return the numbers of a thread's own events, readable or not, in order."""
        ...

    def copy_thread_aside(self, thread: str, reason: str, at: str) -> None:
        """Keep a copy of the row of a thread, readable or not."""
        ...

    def copy_event_aside(self, thread: str, seq: int, reason: str, at: str) -> None:
        """Keep a copy of one event."""
        ...

    def move_events_aside(self, thread: str, first: int, reason: str, at: str) -> int:
        """Take out the events of a thread from a number on, with what is derived from them; gives how many."""
        ...

    def move_strays_aside(self, reason: str, at: str) -> int:
        """Take out events whose thread is missing, and replies of models whose sources are; gives how many."""
        ...

    def move_blob_aside(self, digest: str, reason: str, at: str) -> None:
        """Take out stored bytes."""
        ...

    def renew_thread(self, state: ThreadState) -> None:
        """Give the row of a thread these values, whatever it holds; its history and its index are emptied."""
        ...

    def rebuild_words(self) -> None:
        """Make the word index of the whole store anew from what belongs into it, if the store cannot narrow it down."""
        ...

    def take_out(self, thread: str, first: int, last: int) -> None:
        """Delete events that the caller holds in its hands and is about to log again."""
        ...

    def drop_thread(self, thread: str) -> None:
        """Delete the row of a thread that has no events any more, and what was derived for it."""
        ...

    def erase_aside(self, thread: str) -> None:
        """Forget what was set aside of a thread."""
        ...
