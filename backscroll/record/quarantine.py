"""Quarantine for `verify --repair`: invalid rows are set aside unchanged, never deleted.

Owns the form of quarantined rows, and the operations reserved for repairs: remove log rows to reinsert them, and change the
row of a thread. What is set aside is decided by `engine/exchange/repair`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from backscroll.record.queries import ThreadState


@dataclass(frozen=True, slots=True)
class QuarantineRow:
    """A row that was moved out of its table."""

    number: int
    at: str
    reason: str
    source: str  # threads, events, blobs or replies
    thread: str  # empty if it belongs to no thread
    seq: int  # of the event; 0 for other rows
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
        """Move out a thread's events from a number on, with what is derived from them; return how many."""
        ...

    def move_strays_aside(self, reason: str, at: str) -> int:
        """Move out events without a thread, and model replies without sources; return how many."""
        ...

    def move_blob_aside(self, digest: str, reason: str, at: str) -> None:
        """Move out stored bytes."""
        ...

    def renew_thread(self, state: ThreadState) -> None:
        """Overwrite the row of a thread; its history and its index are emptied."""
        ...

    def rebuild_words(self) -> None:
        """Rebuild the word index of the whole store, if the store cannot narrow it down."""
        ...

    def take_out(self, thread: str, first: int, last: int) -> None:
        """Delete events that the caller holds in memory and will log again."""
        ...

    def drop_thread(self, thread: str) -> None:
        """Delete the row of a thread without events, and what was derived for it."""
        ...

    def erase_aside(self, thread: str) -> None:
        """Erase the quarantined rows of a thread."""
        ...
