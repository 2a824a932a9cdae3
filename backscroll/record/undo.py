"""Find the operation that an undo or redo applies to; an undo never reverts another actor's operation."""

from __future__ import annotations

from collections.abc import Iterable

from backscroll.vocab.event import DELIBERATE, Event, Kind


def _group(event: Event) -> object:
    """Return the group of an event: operations of one stroke carry the number of the first."""
    return event.head.get("group", event.seq)


def to_undo(newest_first: Iterable[Event]) -> list[Event]:
    """Return the last stroke of deliberate operations still in effect, newest first; empty if there is none.

    `newest_first` holds one actor's deliberate, undo and redo events of one thread. An undo may name another actor's
    operation (a reverted compaction), which does not affect the actor's own.
    """
    redone: set[int] = set()  # undos that were reverted
    undone: set[int] = set()  # operations no longer in effect
    stroke: list[Event] = []
    for event in newest_first:
        if event.kind is Kind.REDONE:
            redone.update(_read_named_events(event))
        elif event.kind is Kind.UNDONE and event.seq not in redone:
            undone.update(_read_named_events(event))
        elif event.kind in DELIBERATE and event.seq not in undone:
            if stroke and _group(event) != _group(stroke[0]):
                return stroke
            stroke.append(event)
    return stroke


def to_redo(newest_first: Iterable[Event]) -> Event | None:
    """Return the undo that a redo would revert; None after any later deliberate operation."""
    redone: set[int] = set()
    for event in newest_first:
        if event.kind is Kind.REDONE:
            redone.update(_read_named_events(event))
        elif event.kind is Kind.UNDONE and event.seq not in redone:
            return event
        elif event.kind in DELIBERATE:
            return None
    return None


def _read_named_events(event: Event) -> Iterable[int]:
    return (int(seq) for seq in event.head.get("of", ()))
