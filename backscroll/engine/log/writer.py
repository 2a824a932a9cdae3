"""Apply foreign messages and sync plans as strokes of a pen.

Used by imports and by `Thread.sync`. All deliberate operations of one plan are one stroke for undo.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from backscroll.engine.core.pen import Pen
from backscroll.engine.log import operations
from backscroll.reconcile.operations import (
    AddAlternative,
    Append,
    Choose,
    Delete,
    Edit,
    Hide,
    Insert,
    Move,
    NewRef,
    Operation,
    Place,
    Regenerate,
    Restore,
    Unhide,
)
from backscroll.record.history import HIDDEN, PINNED
from backscroll.vocab.event import Kind
from backscroll.vocab.foreign import ForeignMessage
from backscroll.vocab.ids import Ref
from backscroll.vocab.part import Json

_FLAG = {
    Delete: Kind.DELETED,
    Restore: Kind.RESTORED,
    Hide: Kind.HIDDEN,
    Unhide: Kind.UNHIDDEN,
}
#: The name under which each operation is counted.
DONE: dict[type, str] = {
    Append: "added",
    Insert: "inserted",
    Edit: "edited",
    Regenerate: "regenerated",
    AddAlternative: "alternatives",
    Choose: "chosen",
    Move: "moved",
    Delete: "deleted",
    Restore: "restored",
    Hide: "hidden",
    Unhide: "unhidden",
}


def add_message(
    pen: Pen,
    message: ForeignMessage,
    *,
    after: Ref | None = None,
    at_end: bool = True,
    head: Mapping[str, Json] | None = None,
) -> Ref:
    """Add a foreign message with all its alternatives, at the end or after another; return its id."""
    facts: dict[str, Json] = dict(head or {})
    if message.source_id is not None:
        facts["src"] = message.source_id
    flags = (HIDDEN if message.hidden else 0) | (PINNED if message.pinned else 0)
    contents = message.alternatives or (message.content,)
    times = message.alternative_times or (message.at,)
    first, said = contents[0], (times[0] if times else None) or message.at
    if at_end:
        event = operations.append(pen, message.role, first, said=said, head=facts, flags=flags)
    else:
        event = operations.insert(pen, message.role, first, after, said=said, head=facts, flags=flags)
    for number, content in enumerate(contents[1:], start=1):
        when = times[number] if number < len(times) else None
        operations.regenerate(pen, event.id, content, live=number == message.chosen, said=when, head=head)
    return event.id


def carry_out(pen: Pen, plan: Iterable[Operation]) -> tuple[Counter[str], dict[int, Ref]]:
    """Apply a plan; return how many operations of each kind there were, and the ids of the added messages."""
    counts: Counter[str] = Counter()
    added: dict[int, Ref] = {}
    group = {"group": pen.state.head + 1}
    for step in plan:
        head = pen.state.head
        _carry(pen, step, added, group)
        if pen.state.head > head:  # some flags are set already
            counts[DONE[type(step)]] += 1
    return counts, added


def _carry(pen: Pen, step: Operation, added: dict[int, Ref], group: Mapping[str, Json]) -> None:
    match step:
        case Append():
            added[step.new.number] = add_message(pen, step.message)
        case Insert():
            after = _place(step.after, added)
            added[step.new.number] = add_message(pen, step.message, after=after, at_end=False, head=group)
        case Edit():
            operations.edit(pen, step.id, step.content, head=group, deleted=True)
        case Regenerate():
            operations.regenerate(pen, step.id, step.content, said=step.at, head=group, deleted=True)
        case AddAlternative():
            operations.regenerate(
                pen, step.id, step.content, live=False, said=step.at, head=group, deleted=True
            )
        case Choose():
            operations.choose(pen, step.id, step.revision, head=group, deleted=True)
        case Move():
            operations.move(pen, step.id, _place(step.after, added), head=group, deleted=True)
        case Delete() | Restore() | Hide() | Unhide():
            operations.set_flag(pen, _FLAG[type(step)], step.id, head=group, deleted=True)


def _place(place: Place, added: Mapping[int, Ref]) -> Ref | None:
    return added[place.number] if isinstance(place, NewRef) else place
