"""Compute the lookup columns of an event from the event itself; both stores verify with it."""

from __future__ import annotations

from typing import NamedTuple

from backscroll.record.content import original, tools_of
from backscroll.stores.columns import plain
from backscroll.vocab.event import DELIBERATE, SPEAKING, Kind
from backscroll.vocab.part import Json
from backscroll.vocab.values.moment import microseconds

_UNDOABLE = {kind.value for kind in DELIBERATE | {Kind.UNDONE, Kind.REDONE}}
_SPEAKING = {kind.value for kind in SPEAKING}
_FIRST = {Kind.APPENDED.value, Kind.INSERTED.value}


class EventColumns(NamedTuple):
    """Time, actor and tools of an event, whether it can be undone, and whether it has a content hash."""

    said: str
    said_us: int
    role: str
    tools: tuple[str, ...]
    undoable: bool
    hashed: bool


def beside(kind: str, at: str, head: Json, body: bytes | None, role: str) -> EventColumns:
    """Return the lookup columns of an event; an edit has its message's role, so the stored one is used."""
    said: str = head.get("said", at)
    speaks = kind in _SPEAKING
    tools = tools_of(original(body)) if speaks and body is not None else ()
    right = head["role"] if kind in _FIRST and body is not None else role if speaks else ""
    named = tuple(map(plain, tools))
    return EventColumns(
        said, microseconds(said), right, named, kind in _UNDOABLE, speaks and body is not None
    )
