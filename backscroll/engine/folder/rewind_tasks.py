"""Tasks in a rewind: steps taken in the deleted turns are reverted with them, and restored with them.

Owns which steps those are, and their effects on prompts: what a step cleared returns, what one restored is cleared again.
All of it is events in the stroke of the rewind, so that plain `undo` of the stroke is enough. A user's own crops are not
touched. Messages and files are in `engine/folder/rewind`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from backscroll.engine.inputs.inputs import in_past_of
from backscroll.record.acts import acts_in_force
from backscroll.record.chain import words_from_bytes
from backscroll.record.crops import fold_standing
from backscroll.tasks.lifecycle.steps import place_of
from backscroll.vocab.event import Event, Kind
from backscroll.vocab.ids import Ref

if TYPE_CHECKING:
    from backscroll.engine.core.lineage import View
    from backscroll.engine.core.pen import Pen


def steps_since(view: View, opening: Ref) -> list[Event]:
    """Return the steps of tasks in force that were taken since a message, oldest first."""
    entry = view.entry(opening)
    place = b"" if entry is None else entry.position
    return [
        e
        for e in acts_in_force(_list_rare_events(view), {Kind.TASKED})
        # An inserted message precedes steps with smaller numbers; a task that starts "at" it comes right before it.
        if e.seq > opening.seq or (place and place_of(e) >= place)
    ]


def take_back(pen: Pen, opening: Ref, group: int) -> None:
    """Revert the task steps since a message; in the stroke of the rewind, before its own event."""
    gone = steps_since(pen.view, opening)
    if not gone:
        return
    pen.write(Kind.LIFTED, head={"of": [e.seq for e in gone], "group": group})
    events = _list_rare_events(pen.view)
    crops = {e.seq: e for e in events if e.kind is Kind.CROPPED and "task" in e.head}
    then = fold_standing(e for e in events if e.seq <= opening.seq).crops
    now = fold_standing(events).crops
    _clear_again(pen, [crops[seq] for seq in then if seq in crops and seq not in now], group)
    _uncrop(pen, [seq for seq in now if seq in crops and seq > opening.seq], group)


def give_back(pen: Pen, rewind: str, group: int) -> None:
    """Restore the task steps that a rewind reverted; in the stroke of the redo."""
    events = _list_rare_events(pen.view)
    rewound = next(
        (e for e in reversed(events) if e.head.get("rewind") == rewind and "group" in e.head), None
    )
    if rewound is None:
        return
    first = rewound.head["group"]
    stroke = [e for e in events if e.head.get("group") == first and e.seq < rewound.seq]
    lifted = [e.seq for e in stroke if e.kind is Kind.LIFTED]
    if not lifted:
        return
    pen.write(Kind.LIFTED, head={"of": lifted, "group": group})
    back = {n for e in stroke if e.kind is Kind.UNCROPPED for n in e.head.get("of", ())}
    now = fold_standing(events).crops
    _clear_again(pen, [e for e in events if e.seq in back and e.seq not in now], group)
    _uncrop(pen, [e.seq for e in stroke if e.kind is Kind.CROPPED and e.seq in now], group)


def _list_rare_events(view: View) -> list[Event]:
    """Return the rare events that a view sees, in order, including steps with forgotten text."""
    return [
        replace(e, commit=b"") if e.kind is Kind.TASKED and e.forgotten else e
        for e in view.others()
        if in_past_of(view, e)
    ]


def _clear_again(pen: Pen, crops: Sequence[Event], group: int) -> None:
    """Write the same crops again under new numbers; `written` records which state of the messages they summarize."""
    for crop in crops:
        body = None if crop.body is None else words_from_bytes(crop.body)
        written = crop.head.get("written", crop.seq)
        pen.write(Kind.CROPPED, head={**crop.head, "group": group, "written": written}, body=body)


def _uncrop(pen: Pen, crops: Collection[int], group: int) -> None:
    if crops:
        pen.write(Kind.UNCROPPED, head={"of": list(crops), "group": group})
