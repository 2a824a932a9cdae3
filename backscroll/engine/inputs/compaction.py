"""Find the compaction in force: the newest one that still ends within the history.

A compaction condenses what was old when it was made and leaves the newest messages unchanged. If none of those is left (the
thread was rewound; they were deleted, hidden or cropped; a fork began before them), what it condensed is recent again: then
an earlier compaction is in force, or none. Decided from the log alone, so undo reverts it. Messages for a prompt are read
in `engine/inputs/inputs`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias, cast

from backscroll.assemble.view.compaction import Compaction
from backscroll.derive.summaries.tree import just_before
from backscroll.engine.core.lineage import View
from backscroll.errors import StoreCorrupt
from backscroll.record.chain import words_from_bytes
from backscroll.record.crops import CropState
from backscroll.record.history import Entry
from backscroll.record.ports import RevisionBody
from backscroll.vocab.event import Event, Kind
from backscroll.vocab.ids import Ref
from backscroll.vocab.part import Json

_PAGE = 64
#: A compaction does not apply to prompts with this many times the room it was made for.
AMPLE = 2
Visible: TypeAlias = Callable[[Entry, RevisionBody], bool]


def compaction_in_force(view: View, standing: CropState, visible: Visible, room: int) -> Event | None:
    """Return the event of the newest compaction that still applies in this view, with its body; `visible`: what prompts may show.

    A prompt of `room` tokens ignores a compaction made for a much smaller one, unless the user requested it.
    """
    for seq in reversed(standing.compactions):
        event = view.event(seq)
        if event is None or event.body is None or _made_for_less(event, room):
            continue
        if _still_holds(view, event, visible):
            return event
    return None


def _made_for_less(event: Event, room: int) -> bool:
    if event.head.get("reason") == "asked":
        return False
    made_for = event.head.get("room") or event.head.get("before")
    return isinstance(made_for, int) and 0 < AMPLE * made_for <= room


def same_compaction(view: View, standing: CropState, event: Event) -> list[Event]:
    """Return a compaction with those that only continue it: results trimmed later, messages shown again."""
    found = [known for seq in standing.compactions if (known := view.event(seq)) is not None]
    return [known for known in found if known.body is not None and _founded_on(known) == _founded_on(event)]


def _founded_on(event: Event) -> int:
    """Return the event of the compaction that another one continues; its own if it continues none."""
    if event.body is None:
        return event.seq
    under = cast("Mapping[str, Json]", words_from_bytes(event.body)).get("under")
    return event.seq if under is None else int(under)


def edge_of_compaction(event: Event) -> bytes | None:
    """Return the position up to which only summaries are shown; None: nothing is condensed."""
    place = event.head.get("after")
    return bytes.fromhex(place) if isinstance(place, str) else None


def _still_holds(view: View, event: Event, visible: Visible) -> bool:
    """Return True if a message that the compaction left unchanged can still be shown.

    Only messages from before the compaction count: one added after a rewind does not put it back in force.
    """
    limit, edge = view.limit(event.thread), edge_of_compaction(event)
    if limit is not None and edge is not None and limit <= edge:
        return False
    made = _compaction(event)
    if not made.cuts or made.upto is None:
        return True  # only fresh results were cut: it hides no message
    then = View(view.reader, view.state, event.seq)
    first, last = _place(then, made.cuts[-1]), _place(then, made.upto)
    if first is None:
        return False  # the fork began before it
    after = max(just_before(first), edge or b"")
    # If the newest message it considered was moved to the front, everything from that time is searched.
    before = None if last is None or last < first else last + b"\0"
    while rows := view.page(_PAGE, after=after, before=before):
        if any(entry.message.seq < event.seq and visible(entry, spoken) for entry, spoken in rows):
            return True
        after = rows[-1][0].position
    return False


def _place(then: View, unit: Ref) -> bytes | None:
    """Return the position of a unit at a moment; the summary of a crop is named by the crop's event."""
    entry = then.entry(unit)
    if entry is not None:
        return entry.position
    event = then.event(unit.seq)
    if event is None or event.kind is not Kind.CROPPED or not event.head["places"]:
        return None
    return bytes.fromhex(event.head["places"][0][0])


def _compaction(event: Event) -> Compaction:
    assert event.body is not None
    body = cast("Mapping[str, Json]", words_from_bytes(event.body))
    try:
        return Compaction.from_json(body["compaction"])
    except (KeyError, TypeError) as error:
        raise StoreCorrupt(
            f"compaction {event.id.short} is damaged", hint="undo it, or compact again; no message is touched"
        ) from error
