"""Rows and what they stand for: which columns are read, in which order, and what is made of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from backscroll.record.about import about_from_json
from backscroll.record.chain import from_bytes
from backscroll.record.history import Entry
from backscroll.record.ports import ThreadState
from backscroll.vocab.event import Event, Kind
from backscroll.vocab.ids import Ref, parse_ref

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


def thread_of(row: Sequence[Any]) -> ThreadState:
    """The state that a row of `THREAD` columns holds."""
    id_, root, head, hash_, about, created, updated, messages, turns, parent, seq, position, message, gone = (
        row
    )
    return ThreadState(
        id_,
        root,
        head,
        hash_,
        about_from_json(from_bytes(about)),
        created,
        updated,
        messages,
        turns,
        parent,
        seq,
        position,
        None if message is None else parse_ref(message),
        gone,
    )


def entry_of(row: Sequence[Any]) -> Entry:
    """The entry that a row of `ENTRY` columns holds."""
    thread, seq, position, role, by, number, alternative, alternatives, flags, since = row[:10]
    return Entry(Ref(thread, seq), position, role, Ref(by, number), alternative, alternatives, flags, since)


def event_of(row: Sequence[Any]) -> Event:
    """The event that a row of `EVENT` columns holds."""
    thread, seq, kind, actor, at, about, number, head, body, salt, seal, hash_ = row
    target = None if about is None else Ref(about, number)
    return Event(thread, seq, Kind(kind), actor, at, target, from_bytes(head), body, salt, seal, hash_)
