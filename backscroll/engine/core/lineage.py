"""A history along forks: a fork shares its parent's log up to an event and a message, and copies nothing.

A `View` reads a thread as of one event: its own entries, then the parent's as of the fork, and so on to the root.
An entry of a nearer thread hides the entry of a farther one for the same message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from backscroll.errors import StoreCorrupt
from backscroll.record.history import HIDDEN, Entry
from backscroll.record.ports import Bounds, Reader, RevisionBody, ThreadState
from backscroll.vocab.event import SPEAKING, Event
from backscroll.vocab.ids import Ref

#: Set once anything was ever forgotten: earlier moments then contain messages without text.
ERASED = "erased"
_PAGE = 256


def ancestors(reader: Reader, state: ThreadState) -> Iterator[tuple[ThreadState, ThreadState]]:
    """Yield a thread with its parent, the parent with its own, and so on to the root."""
    seen = {state.id}
    while state.parent is not None:
        parent = reader.thread(state.parent)
        if parent is None or parent.id in seen:
            what = "is missing" if parent is None else "is its own descendant"
            raise StoreCorrupt(
                f"thread {state.id[:8]} is a fork of {state.parent[:8]}, which {what}",
                hint="run `backscroll verify`; `backscroll restore-backup` restores a backup",
            )
        yield state, parent
        seen.add(parent.id)
        state = parent


def kin_of(reader: Reader, root: str) -> list[ThreadState]:
    """Return the threads of a family whose whole ancestry is readable, oldest first: damage in one does not affect the others."""
    found = {state.id: state for state in reader.family(root)}
    return [state for state in found.values() if _is_whole(found, state)]


def _is_whole(family: Mapping[str, ThreadState], state: ThreadState) -> bool:
    """Return True if every ancestor is in the family; an unreadable one is not."""
    seen: set[str] = set()
    at: ThreadState | None = state
    while at is not None and at.parent is not None and at.id not in seen:
        seen.add(at.id)
        at = family.get(at.parent)
    return at is not None and at.parent is None


def reach(reader: Reader, state: ThreadState) -> list[tuple[str, int]]:
    """Return a thread and its ancestors, each with the last event that the thread sees."""
    past = [(parent.id, fork.fork_seq) for fork, parent in ancestors(reader, state)]
    return [(state.id, state.head), *past]


@dataclass(frozen=True, slots=True)
class _Segment:
    thread: str
    as_of: int
    upto: bytes | None
    hidden: frozenset[Ref]  # messages for which a nearer thread has its own entries
    current: bool  # the segment is read as of now, without looking back


class View:
    """One thread with its whole ancestry, as of one event."""

    def __init__(self, reader: Reader, state: ThreadState, as_of: int | None = None) -> None:
        self.reader = reader
        self.state = state
        self.as_of = state.head if as_of is None else min(as_of, state.head)
        self._segments = self._trace(state)

    def _trace(self, state: ThreadState) -> list[_Segment]:
        out = [_Segment(state.id, self.as_of, None, frozenset(), self.as_of == state.head)]
        upto: bytes | None = None
        hidden: set[Ref] = set()
        seq = self.as_of
        for fork, parent in ancestors(self.reader, state):
            # Only what a parent had adopted by the time of the fork hides anything here.
            hidden |= {
                message for message, since in self.reader.list_adopted_messages(fork.id) if since <= seq
            }
            seq = min(seq, fork.fork_seq)
            limits = [p for p in (upto, fork.fork_position) if p is not None]
            upto = min(limits) if limits else None
            out.append(_Segment(parent.id, seq, upto, frozenset(hidden), current=False))
        return out

    def entry(self, message: Ref) -> Entry | None:
        """Return the entry of a message in this view, deleted ones included; None if it is out of view."""
        for segment in self._segments:
            found = self.reader.entry(segment.thread, message, None if segment.current else segment.as_of)
            if found is not None:
                return None if segment.upto is not None and found.position > segment.upto else found
        return None

    def page(
        self,
        limit: int,
        *,
        after: bytes | None = None,
        before: bytes | None = None,
        newest_first: bool = False,
        gone: bool = False,
    ) -> list[tuple[Entry, RevisionBody]]:
        """Return the first entries strictly between two positions, in order (or from the end)."""
        rows: list[tuple[Entry, RevisionBody]] = []
        for segment in self._segments:
            rows += self._segment_page(segment, limit, after, before, newest_first=newest_first, gone=gone)
        if len(self._segments) > 1:
            rows.sort(key=lambda row: row[0].position, reverse=bool(newest_first))
        return rows[:limit]

    def _segment_page(
        self,
        segment: _Segment,
        limit: int,
        after: bytes | None,
        before: bytes | None,
        *,
        newest_first: bool,
        gone: bool,
    ) -> list[tuple[Entry, RevisionBody]]:
        out: list[tuple[Entry, RevisionBody]] = []
        bounds = Bounds(segment.as_of, after, before, segment.upto)
        while len(out) < limit:
            rows = self.reader.page(segment.thread, bounds, limit, newest_first=newest_first, gone=gone)
            out += [row for row in rows if row[0].message not in segment.hidden]
            if len(rows) < limit:
                break
            edge = rows[-1][0].position
            bounds = replace(bounds, before=edge) if newest_first else replace(bounds, after=edge)
        return out

    def count(
        self,
        *,
        role: str | None = None,
        after: bytes | None = None,
        upto: bytes | None = None,
        hidden: bool = False,
    ) -> int:
        """Return the number of live messages after one position and up to another; with `hidden`, of hidden ones."""
        if self.as_of < self.state.head and self.reader.meta(ERASED) is not None:
            return self._count_readable(role, after, upto, hidden=hidden)
        total = 0
        for segment in self._segments:
            limits = [p for p in (upto, segment.upto) if p is not None]
            bounds = Bounds(segment.as_of, after=after, upto=min(limits) if limits else None)
            total += self.reader.count(segment.thread, bounds, role=role, hidden=hidden)
            for message in segment.hidden:
                entry = self.reader.entry(segment.thread, message, segment.as_of)
                if (
                    entry is not None
                    and bounds.hold(entry.position)
                    and entry.live
                    and role in (None, entry.role)
                    and (not hidden or entry.flags & HIDDEN)
                ):
                    total -= 1
        return total

    def _count_readable(
        self, role: str | None, after: bytes | None, upto: bytes | None, *, hidden: bool
    ) -> int:
        """Count for an earlier moment, where text may have been forgotten since, which no entry of that time can tell."""
        total = 0
        while rows := self.page(_PAGE, after=after):
            inside = [e for e, _ in rows if upto is None or e.position <= upto]
            total += sum(role in (None, e.role) and bool(not hidden or e.flags & HIDDEN) for e in inside)
            if len(inside) < _PAGE:
                break
            after = rows[-1][0].position
        return total

    def others(self, after: int = 0) -> list[Event]:
        """Return the rare events (all but new messages and asides) after a number, including what a fork shares."""
        return self._few(self.reader.others, after)

    def list_placed_events(self, after: int = 0) -> list[Event]:
        """Return the events after a number that placed text in prompts, including what a fork shares."""
        return self._few(self.reader.list_placed_events, after)

    def _few(self, read: Callable[[str, int, int], list[Event]], after: int) -> list[Event]:
        high = self.as_of
        out = read(self.state.id, max(after, self.state.fork_seq) + 1, high)
        for fork, parent in ancestors(self.reader, self.state):
            high = min(high, fork.fork_seq)
            if after >= high:
                break
            out = read(parent.id, max(after, parent.fork_seq) + 1, high) + out
        return out

    def event(self, seq: int) -> Event | None:
        """Return an event by its number along the lineage."""
        if seq > self.as_of:
            return None
        name, floor = self.state.id, self.state.fork_seq
        for _, parent in ancestors(self.reader, self.state):
            if seq > floor:
                break
            name, floor = parent.id, parent.fork_seq
        return self.reader.event(Ref(name, seq))

    def limit(self, thread: str) -> bytes | None:
        """Return the position up to which this view shares a thread's messages; None: all of them."""
        return next((segment.upto for segment in self._segments if segment.thread == thread), None)

    def list_marked_entries(self) -> list[tuple[Entry, RevisionBody]]:
        """Return live system messages and pinned messages, in order."""
        rows: list[tuple[Entry, RevisionBody]] = []
        for segment in self._segments:
            bounds = Bounds(segment.as_of, upto=segment.upto)
            found = self.reader.list_marked_entries(segment.thread, bounds)
            rows += [row for row in found if row[0].message not in segment.hidden]
        rows.sort(key=lambda row: row[0].position)
        return rows

    def sees(self, entry: Entry) -> bool:
        """Return True if this view shows the message of an entry in that revision."""
        found = self.entry(entry.message)
        return found is not None and found.live and found.revision == entry.revision


def visible_revisions(events: Sequence[Event], lineage: Sequence[tuple[str, int]]) -> list[Event]:
    """Return the events about a message that created revisions and belong to a lineage."""
    reach = dict(lineage)
    found = [e for e in events if e.kind in SPEAKING and not e.forgotten and e.seq <= reach.get(e.thread, -1)]
    return sorted(found, key=lambda e: e.seq)


def log_of(view: View, first: int, last: int) -> list[Event]:
    """Return events along the lineage: a fork's numbers continue where its parent's shared part ends."""
    high = min(last, view.as_of)
    out = view.reader.events(view.state.id, max(first, view.state.fork_seq + 1), high)
    for fork, parent in ancestors(view.reader, view.state):
        if first > fork.fork_seq:
            break
        high = min(high, fork.fork_seq)
        out = view.reader.events(parent.id, max(first, parent.fork_seq + 1), high) + out
    return out
