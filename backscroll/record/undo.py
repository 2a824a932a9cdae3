"""The operation that an undo or redo applies to. Undo belongs to an actor: it never takes back another actor's operation."""

from __future__ import annotations

from collections.abc import Iterable

from backscroll.vocab.event import DELIBERATE, Event, Kind


def _group(event: Event) -> object:
    """Return operations done in one stroke carry the number of the first of them."""
    return event.head.get("group", event.seq)


def to_undo(newest_first: Iterable[Event]) -> list[Event]:
    """Return the last stroke of deliberate operations that is still in force, newest first; empty where there is none.

    `newest_first` holds one actor's deliberate, undo and redo events of one thread. An undo may name another actor's operation
    (a compaction that was taken back): that says nothing about the actor's own operations.
    """
    redone: set[int] = set()  # undos that were taken back
    undone: set[int] = set()  # operations that are not in force
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
    """Return the undo that a redo would take back; None once anything deliberate was done after it."""
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
