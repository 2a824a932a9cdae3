"""Which operation an undo or redo is about. Undo belongs to an actor: nobody takes back what somebody else did."""

from __future__ import annotations

from collections.abc import Iterable

from backscroll.vocab.event import DELIBERATE, Event, Kind


def _group(event: Event) -> object:
    """Operations done in one stroke carry the number of the first of them."""
    return event.head.get("group", event.seq)


def to_undo(newest_first: Iterable[Event]) -> list[Event]:
    """The last stroke of deliberate operations that is still in force, newest first; empty where there is none.

    `newest_first` holds one actor's deliberate, undo and redo events of one thread.
    """
    skip = 0
    stroke: list[Event] = []
    skipped: object = None
    for event in newest_first:
        if event.kind is Kind.UNDONE:
            skip, skipped = skip + 1, None
        elif event.kind is Kind.REDONE:
            skip, skipped = skip - 1, None
        elif event.kind in DELIBERATE:
            group = _group(event)
            if stroke:
                if group != _group(stroke[0]):
                    return stroke
                stroke.append(event)
            elif skipped is not None and group == skipped:
                continue
            elif skip > 0:
                skip, skipped = skip - 1, group
            else:
                stroke.append(event)
    return stroke


def to_redo(newest_first: Iterable[Event]) -> Event | None:
    """The undo that a redo would take back; None once anything deliberate was done after it."""
    redone = 0
    for event in newest_first:
        if event.kind is Kind.REDONE:
            redone += 1
        elif event.kind is Kind.UNDONE:
            if redone == 0:
                return event
            redone -= 1
        elif event.kind in DELIBERATE:
            return None
    return None
