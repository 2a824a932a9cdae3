"""Fold events into the live history.

Each message of a thread has an `Entry`: where it is, which revision is live, and its flags. Every event about a message
closes its entry and opens the next, so the entries of a thread are at once the live history (the open ones) and every earlier
moment (`since` ≤ k < `until`). Stores keep the entries in the same transaction as the event; `verify` folds again and
compares.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from backscroll.errors import StoreCorrupt
from backscroll.record.order import at_end
from backscroll.vocab.event import Event, Kind
from backscroll.vocab.ids import Ref, parse_ref
from backscroll.vocab.message import Role, checked_role
from backscroll.vocab.part import Json

DELETED, HIDDEN, PINNED, FORGOTTEN = 1, 2, 4, 8
GONE = DELETED | FORGOTTEN

_FLAG = {
    Kind.DELETED: (DELETED, True),
    Kind.RESTORED: (DELETED, False),
    Kind.HIDDEN: (HIDDEN, True),
    Kind.UNHIDDEN: (HIDDEN, False),
    Kind.PINNED: (PINNED, True),
    Kind.UNPINNED: (PINNED, False),
}


@dataclass(frozen=True, slots=True)
class Entry:
    """The state of one message in one thread since event number `since`."""

    message: Ref
    position: bytes
    role: Role
    revision: Ref
    alternative: int = 0
    alternatives: int = 1
    flags: int = 0
    since: int = 0

    @property
    def live(self) -> bool:
        """True while the message is in the history."""
        return not self.flags & GONE

    @property
    def opens_turn(self) -> bool:
        """True for a live user message."""
        return self.role == "user" and not self.flags & GONE


Lookup: TypeAlias = Callable[[Ref], Entry | None]


def changes(event: Event, current: Lookup) -> list[Entry]:
    """Return the entries that an event opens; each takes the place of the message's entry before."""
    kind, seq = event.kind, event.seq
    if kind is Kind.APPENDED or kind is Kind.INSERTED:
        position = event.head.get("position")
        place = bytes.fromhex(position) if position else at_end(seq)
        role = checked_role(event.head["role"])
        return [Entry(event.id, place, role, event.id, flags=event.head.get("flags", 0), since=seq)]
    if kind is Kind.FORGOTTEN:
        gone = [current(parse_ref(hole["message"])) for hole in event.head.get("messages", ())]
        return [replace(e, flags=e.flags | FORGOTTEN, since=seq) for e in gone if e is not None]
    if kind is Kind.UNDONE or kind is Kind.REDONE:
        return [_reset(event, seq, was, current) for was in event.head.get("entries", ())]
    if event.target is None:
        return []
    entry = current(event.target)
    if entry is None:
        return []
    return [replace(_change_entry(event, entry), since=seq)]


def _change_entry(event: Event, entry: Entry) -> Entry:
    kind, head = event.kind, event.head
    if kind in _FLAG:
        flag, on = _FLAG[kind]
        return replace(entry, flags=entry.flags | flag if on else entry.flags & ~flag)
    if kind is Kind.EDITED:
        return replace(entry, revision=event.id)
    if kind is Kind.REGENERATED:
        count = entry.alternatives + 1
        if head.get("aside"):  # an alternative that is added without becoming the live one
            return replace(entry, alternatives=count)
        return replace(entry, revision=event.id, alternative=entry.alternatives, alternatives=count)
    if kind is Kind.CHOSEN:
        return replace(entry, revision=parse_ref(head["revision"]), alternative=head["alternative"])
    if kind is Kind.MOVED:
        return replace(entry, position=bytes.fromhex(head["position"]))
    return entry


def pack(entry: Entry) -> dict[str, Json]:
    """Return what an undo records about an entry: enough to restore it, without text."""
    return {
        "message": str(entry.message),
        "position": entry.position.hex(),
        "revision": str(entry.revision),
        "alternative": entry.alternative,
        "flags": entry.flags,
    }


def _reset(event: Event, seq: int, was: Mapping[str, Json], current: Lookup) -> Entry:
    message = parse_ref(was["message"])
    entry = current(message)
    if entry is None:
        raise StoreCorrupt(f"event {event.id} resets {message}, which is not in this history")
    return replace(
        entry,
        position=bytes.fromhex(was["position"]),
        revision=parse_ref(was["revision"]),
        alternative=was["alternative"],
        flags=was["flags"] | (entry.flags & FORGOTTEN),
        since=seq,
    )


@dataclass(frozen=True, slots=True)
class EntrySpan:
    """An entry together with the number of the event that closed it (None: still open)."""

    entry: Entry
    until: int | None


def replay(events: Iterable[Event], inherited: Lookup) -> list[EntrySpan]:
    """Fold the own events of one thread from nothing: every entry that a store should hold for it."""
    open_now: dict[Ref, Entry] = {}
    closed: list[EntrySpan] = []

    def current(message: Ref) -> Entry | None:
        return open_now.get(message) or inherited(message)

    for event in events:
        for entry in changes(event, current):
            before = open_now.get(entry.message)
            if before is not None:
                closed.append(EntrySpan(before, event.seq))
            open_now[entry.message] = entry
    return closed + [EntrySpan(e, None) for e in open_now.values()]
