"""Rows that a store reads and writes, and the filters and bounds of its queries."""

from __future__ import annotations

from dataclasses import dataclass

from backscroll.record.thread_info import ThreadDescription
from backscroll.vocab.event import Event
from backscroll.vocab.ids import Ref


@dataclass(frozen=True, slots=True)
class SearchFilter:
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
    """A revision that matches a search."""

    revision: Ref
    message: Ref
    role: str
    said: str
    score: float


@dataclass(frozen=True, slots=True)
class Bounds:
    """The part of a thread's own entries to read: positions strictly between `after` and `before`, as of an event."""

    as_of: int
    after: bytes | None = None
    before: bytes | None = None
    upto: bytes | None = None  # inclusive upper limit, for the shared past of a fork

    def hold(self, position: bytes) -> bool:
        """Return True if a position lies within."""
        low = self.after is None or position > self.after
        high = self.before is None or position < self.before
        return low and high and (self.upto is None or position <= self.upto)


@dataclass(frozen=True, slots=True)
class ThreadState:
    """The row of a thread: where its log ends, how it forked, and what is known about it."""

    id: str
    root: str  # the thread that the whole family of forks started from; itself where it is not a fork
    head: int  # sequence number of the newest event
    hash: bytes  # hash of the newest event
    about: ThreadDescription
    created_at: str
    updated_at: str
    messages: int = 0
    turns: int = 0
    parent: str | None = None
    fork_seq: int = 0  # events of the parent up to this number are shared
    fork_position: bytes | None = None  # messages of the parent up to this position are shared; None: all
    fork_message: Ref | None = None
    forgotten: bool = False


@dataclass(frozen=True, slots=True)
class RevisionBody:
    """The text of a revision, as stored."""

    body: bytes | None
    digest: bytes | None
    said: str  # ISO time of the message
    actor: str


@dataclass(frozen=True, slots=True)
class EventRow:
    """An event with the columns that a store keeps for fast lookup."""

    event: Event
    said: str
    said_us: int  # the same in microseconds since 1970, UTC
    role: str = ""
    digest: bytes | None = None
    tools: tuple[str, ...] = ()
    words: str = ""  # index tokens; empty: not searchable
    undoable: bool = False  # deliberate operations, undo and redo
    head: bytes | None = None  # the head of the event as stored, if the caller has it
    waits: bool = False  # searchable, with index words still to be computed (`Writer.words_may_wait`)
