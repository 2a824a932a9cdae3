"""What a store keeps beside an event for quick look-up, worked out from the event again; both stores verify with it."""

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
    """When, by whom and with which tools something was said, whether it can be undone, and whether it has a content hash."""

    said: str
    said_us: int
    role: str
    tools: tuple[str, ...]
    undoable: bool
    hashed: bool


def beside(kind: str, at: str, head: Json, body: bytes | None, role: str) -> EventColumns:
    """Return what belongs beside an event; the role of an edit is its message's, so that the one that is there is taken."""
    said: str = head.get("said", at)
    speaks = kind in _SPEAKING
    tools = tools_of(original(body)) if speaks and body is not None else ()
    right = head["role"] if kind in _FIRST and body is not None else role if speaks else ""
    named = tuple(map(plain, tools))
    return EventColumns(
        said, microseconds(said), right, named, kind in _UNDOABLE, speaks and body is not None
    )
