"""Find the acts in effect: those neither undone (unless redone) nor lifted.

Overrides of the graph, world descriptions, steps of tasks and changes to memories are acts: events with a sealed body. This
fold holds no text and reads only the thread's rare events.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from backscroll.vocab.event import Event, Kind


def acts_in_force(events: Iterable[Event], kinds: Collection[Kind]) -> list[Event]:
    """Return acts of some kinds in effect after these events (in order; others may be left out), oldest first.

    `LIFTED` names in its head what it lifts (`of`: numbers of events); an undo of it restores that. An event whose text was
    forgotten is left out.
    """
    acts: dict[int, Event] = {}
    taken: dict[int, set[int]] = {}  # the targets of every undo, redo and lifting
    held: dict[int, int] = {}  # how often each event is currently reverted
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
    """Revert what an event names; reverting a revert restores its targets."""
    for name in taken[seq]:
        if name in taken:
            _apply(name, -sign, taken, held, acts)
        if name in acts:
            held[name] = held.get(name, 0) + sign
