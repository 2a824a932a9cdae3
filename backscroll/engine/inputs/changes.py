"""What was done to the past that prompts have shown, and from which place on they say other things since.

Before: `engine/core/lineage`. After: `engine/prompts/sheet/sheet`; `engine/prompts/builder` says on the receipt what it costs, and leaves out thinking that
was made before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from backscroll.engine.core.lineage import View
from backscroll.vocab.event import Event, Kind
from backscroll.vocab.ids import Ref, parse_ref

if TYPE_CHECKING:
    from backscroll.engine.prompts.sheet.sheet import CropMark

#: A run of cropped messages that is skipped in one stride rather than read.
_STRIDE = 512
#: Events that can put a message between others.
ARRIVALS = frozenset({Kind.INSERTED, Kind.MOVED, Kind.RESTORED, Kind.UNDONE, Kind.REDONE})
#: Events that change what prompts have shown; a rewind is told by its deletions.
CHANGING = ARRIVALS | {
    Kind.EDITED,
    Kind.REGENERATED,
    Kind.CHOSEN,
    Kind.DELETED,
    Kind.HIDDEN,
    Kind.UNHIDDEN,
    Kind.CROPPED,
    Kind.UNCROPPED,
    Kind.FORGOTTEN,
}


@dataclass(frozen=True, slots=True)
class PastChange:
    """Something that was done to what prompts had shown: from a place on they say other things."""

    event: int
    kind: Kind
    place: bytes  # nothing before it changed


def changes_by(view: View, events: Iterable[Event]) -> Iterator[PastChange]:
    """What these events did to what prompts show."""
    for event in events:
        if event.kind not in CHANGING:
            continue
        entries = [view.entry(message) for message in touched_by(iter([event]))]
        places = [entry.position for entry in entries if entry is not None]
        places += [bytes.fromhex(low) for low, _ in event.head.get("places", ())]
        # Where a message came from is not written down, nor what else repeated words that are forgotten.
        known = places and event.kind not in (Kind.MOVED, Kind.FORGOTTEN)
        yield PastChange(event.seq, event.kind, min(places) if known else b"")


def touched_by(events: Iterator[Event]) -> Iterator[Ref]:
    """Messages that these events changed."""
    for event in events:
        if event.message is not None:
            yield event.message
        for was in event.head.get("entries", ()):
            yield parse_ref(was["message"])
        for hole in event.head.get("messages", ()):
            yield parse_ref(hole["message"])


def strides_of(crops: Sequence[CropMark], rare: Sequence[Event], view: View) -> list[tuple[bytes, bytes]]:
    """Stretches that hold nothing but cropped messages: long ones into which nothing was put since."""
    out: list[tuple[bytes, bytes]] = []
    for crop in crops:
        if crop.count >= _STRIDE:
            since = rare if crop.written == crop.event.seq else view.others(crop.written)
            if not any(e.kind in ARRIVALS and e.seq > crop.written for e in since):
                out += crop.places
    return out
