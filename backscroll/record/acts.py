"""Acts in force: those neither undone (and not redone) nor lifted.

Overrides of the graph, world descriptions, steps of tasks and changes to memories are acts: events with a sealed body. This
fold owns no words and reads only the thread's rare events.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from backscroll.vocab.event import Event, Kind


def acts_in_force(events: Iterable[Event], kinds: Collection[Kind]) -> list[Event]:
    """Return acts of some kinds that hold after these events (in order; others may be left out), oldest first.

    `LIFTED` names in its head what it lifts (`of`: numbers of events); an undo of it brings that back. An event whose
    words were forgotten says nothing any more and is left out.
    """
    acts: dict[int, Event] = {}
    taken: dict[int, set[int]] = {}  # what every undo, redo and lifting named
    held: dict[int, int] = {}  # how often each event is taken back now
    for event in events:
        if event.kind in kinds or event.kind is Kind.LIFTED:
            acts[event.seq] = event
        if event.kind in (Kind.LIFTED, Kind.UNDONE, Kind.REDONE):
            names = {n for n in event.head.get("of", ()) if n in acts or n in taken}
            taken[event.seq] = names
            _apply(event.seq, 1, taken, held, acts)
    return [e for e in acts.values() if e.kind in kinds and held.get(e.seq, 0) <= 0 and not e.forgotten]


def _apply(
    seq: int, sign: int, taken: dict[int, set[int]], held: dict[int, int], acts: dict[int, Event]
) -> None:
    """Take back what an event names; what takes back a taking back gives back what that took."""
    for name in taken[seq]:
        if name in taken:
            _apply(name, -sign, taken, held, acts)
        if name in acts:
            held[name] = held.get(name, 0) + sign
