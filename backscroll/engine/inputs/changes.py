"""Changes to the history that prompts have shown, and the position from which prompts differ since."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from backscroll.assemble.compaction.crop import within
from backscroll.engine.core.lineage import View
from backscroll.vocab.event import Event, Kind
from backscroll.vocab.handle import Handle
from backscroll.vocab.ids import Ref, parse_ref

#: The length from which a run of cropped messages is skipped rather than read.
_STRIDE = 512
#: Events that can insert a message between others.
ARRIVALS = frozenset({Kind.INSERTED, Kind.MOVED, Kind.RESTORED, Kind.UNDONE, Kind.REDONE})
#: Events that change what prompts have shown; a rewind is recorded as its deletions.
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
class CropMark:
    """A crop in force."""

    event: Ref
    at: str
    actor: str
    runs: tuple[tuple[int, int], ...]  # message numbers, first and last
    places: tuple[tuple[bytes, bytes], ...]  # stretches of the history that they occupied
    count: int
    summary: str | None  # None: erased, or withheld because a message it covers changed
    by: str  # person or rules
    disturbed: bool  # a message of it has changed since it was cropped
    written: int  # the event that first recorded it: a rewind may do so again

    @property
    def handle(self) -> str:
        """The handle that expands to the cropped messages."""
        return str(Handle(self.runs[0][0], self.runs[-1][1]))

    def holds(self, message: Ref) -> bool:
        """Return True for a message of this crop."""
        return message.seq < self.event.seq and within(message.seq, self.runs)


@dataclass(frozen=True, slots=True)
class PastChange:
    """A change to what prompts had shown: from a position on they differ."""

    event: int
    kind: Kind
    place: bytes  # nothing before this changed


def changes_by(view: View, events: Iterable[Event]) -> Iterator[PastChange]:
    """Yield what these events changed in what prompts show."""
    for event in events:
        if event.kind not in CHANGING:
            continue
        entries = [view.entry(message) for message in touched_by(iter([event]))]
        places = [entry.position for entry in entries if entry is not None]
        places += [bytes.fromhex(low) for low, _ in event.head.get("places", ())]
        # Where a message came from is not recorded, nor what else repeated forgotten text.
        known = places and event.kind not in (Kind.MOVED, Kind.FORGOTTEN)
        yield PastChange(event.seq, event.kind, min(places) if known else b"")


def touched_by(events: Iterator[Event]) -> Iterator[Ref]:
    """Yield the messages that these events changed."""
    for event in events:
        if event.message is not None:
            yield event.message
        for was in event.head.get("entries", ()):
            yield parse_ref(was["message"])
        for hole in event.head.get("messages", ()):
            yield parse_ref(hole["message"])


def strides_of(crops: Sequence[CropMark], rare: Sequence[Event], view: View) -> list[tuple[bytes, bytes]]:
    """Return long stretches that contain only cropped messages, into which nothing was inserted since."""
    out: list[tuple[bytes, bytes]] = []
    for crop in crops:
        if crop.count >= _STRIDE:
            since = rare if crop.written == crop.event.seq else view.others(crop.written)
            if not any(e.kind in ARRIVALS and e.seq > crop.written for e in since):
                out += crop.places
    return out
