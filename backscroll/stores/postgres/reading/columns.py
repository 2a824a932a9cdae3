"""Convert rows into record types: the columns read, in order, and the resulting objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from backscroll.errors import StoreCorrupt
from backscroll.record.chain import DAMAGE, from_bytes, make_corrupt_error
from backscroll.record.history import Entry
from backscroll.record.ports import ThreadState
from backscroll.record.thread_info import about_from_json
from backscroll.vocab.event import Event, Kind
from backscroll.vocab.ids import Ref, parse_ref
from backscroll.vocab.values.moment import microseconds

THREAD = (
    "id, root, head, hash, about, created_at, updated_at, messages, turns, parent, fork_seq, fork_position, "
    "fork_message, forgotten"
)
EVENT = "v.thread, v.seq, v.kind, v.actor, v.at, v.target_thread, v.target_seq, v.head, v.body, v.salt, v.seal, v.hash"
ENTRY = (
    "e.message_thread, e.message_seq, e.position, e.role, e.revision_thread, e.revision_seq, e.alternative, "
    "e.alternatives, e.flags, e.since"
)
SPOKEN = "v.body, v.digest, v.said, v.actor"
UNREADABLE = (*DAMAGE, StoreCorrupt)


def thread_of(row: Sequence[Any]) -> ThreadState:
    """Return the state that a row of `THREAD` columns holds, or an error that names the thread."""
    id_, root, head, hash_, about, created, updated, messages, turns, parent, seq, position, message, gone = (
        row
    )
    try:
        microseconds(updated)  # an invalid time would otherwise surface only at the next write
        what = about_from_json(from_bytes(about))
        at = None if message is None else parse_ref(message)
    except UNREADABLE as error:
        raise make_corrupt_error(f"the row of thread {id_[:8]}", error) from error
    return ThreadState(
        id_, root, head, hash_, what, created, updated, messages, turns, parent, seq, position, at, gone
    )


def readable(rows: Iterable[Sequence[Any]]) -> Iterator[ThreadState]:
    """Yield the readable rows: a damaged one must not hide the others. Verification reports it."""
    for row in rows:
        with suppress(StoreCorrupt):
            yield thread_of(row)


def entry_of(row: Sequence[Any]) -> Entry:
    """Return the entry that a row of `ENTRY` columns holds."""
    thread, seq, position, role, by, number, alternative, alternatives, flags, since = row[:10]
    return Entry(Ref(thread, seq), position, role, Ref(by, number), alternative, alternatives, flags, since)


def event_of(row: Sequence[Any]) -> Event:
    """Return the event that a row of `EVENT` columns holds, or an error that names the event."""
    thread, seq, kind, actor, at, about, number, head, body, salt, seal, hash_ = row
    target = None if about is None else Ref(about, number)
    try:
        what, facts = Kind(kind), from_bytes(head)
    except UNREADABLE as error:
        raise make_corrupt_error(f"event {Ref(thread, seq).short}", error) from error
    return Event(thread, seq, what, actor, at, target, facts, body, salt, seal, hash_)
