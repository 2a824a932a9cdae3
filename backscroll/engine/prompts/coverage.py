"""Coverage: whether each live message is shown in a prompt, covered by a summary, or neither.

The three numbers add up exactly to the live messages of the thread. Messages in the window are checked one by one; those
before it are counted by the store without being read, so the cost follows the budget and not the history. What a prompt
shows is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from backscroll.derive.summaries.tree import just_before
from backscroll.engine.core.history import History
from backscroll.engine.core.lineage import View
from backscroll.engine.inputs.changes import ARRIVALS
from backscroll.engine.inputs.inputs import CropMark
from backscroll.engine.tree.tree import waiting_for_tree
from backscroll.record.history import HIDDEN, Entry
from backscroll.vocab.handle import handle_of
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message
from backscroll.vocab.part import Text
from backscroll.vocab.prompt import Block, Level, Section

if TYPE_CHECKING:
    from backscroll.engine.prompts.composition.composer import Composer

_SHELF = 512
Stretch = tuple[bytes, bytes]  # positions: after the first one, up to and including the second


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many live messages a prompt shows, summarizes, and leaves out."""

    shown: int  # individually, whole or cut
    summarised: int  # covered by a line, a summary of older history or a crop's summary
    unseen: int  # neither: hidden, or left out for lack of room


def coverage_of(composer: Composer, blocks: Sequence[Block]) -> Coverage:
    """Return how these blocks cover the live messages of a thread."""
    history = History(composer.thread.store, composer.thread.id, composer.sheet.head)
    return history.reading(lambda view: _Account(composer, blocks, view).coverage())


class _Account:
    """One prompt and the history that it was made from."""

    def __init__(self, composer: Composer, blocks: Sequence[Block], view: View) -> None:
        self.sheet, self.view = composer.sheet, view
        self.crops = self.sheet.crops
        current = composer.as_of is None
        self.memo: Any = composer.thread.engine.memo.shelf("coverage", _SHELF) if current else {}
        named = {b.message for b in blocks if b.message is not None}
        crop_events = {c.event for c in self.crops}
        self.shown = named - crop_events
        lines = _texts(blocks, Section.HISTORY, Section.RECENT)
        levels: Mapping[Ref, Level] = {}
        if composer.frozen is not None:
            levels = composer.frozen.compaction.levels
        spoken = [
            u
            for u in composer.units
            if levels.get(u.id) is Level.GIST and f"{handle_of(u.id, u.last)} {u.role}:" in lines
        ]
        self.lines = {m.id for u in spoken for m in u.messages} - self.shown
        self.stand_ins = (named & crop_events) | (self.lines & crop_events)
        far = _texts(blocks, Section.SUMMARIES)
        told = [f for f in composer.far_of(composer.frozen) if f.text and f.handle in far]
        self.ranges = _merge_stretches((f.first, f.last) for f in told)

    def coverage(self) -> Coverage:
        """Return the three numbers."""
        messages, edge = self.sheet.messages, self.sheet.edge
        unseen = sum(not self._spoken_for(m) for m in self.sheet.window if _is_real(m))
        if edge is not None:
            unseen += sum(self._seen_nowhere(gap) for gap in self._gaps(edge))
        unseen += self._count_hidden(edge)
        unseen += sum(self._count_cropped(c, None) for c in self.crops if c.event not in self.stand_ins)
        shown = len(self.shown)
        return Coverage(shown, messages - shown - unseen, unseen)

    def _spoken_for(self, message: Message) -> bool:
        if message.id in self.shown or message.id in self.lines:
            return True
        return any(low <= message.position <= high for low, high in self.ranges)

    def _gaps(self, edge: bytes) -> list[Stretch]:
        """Return stretches before the window that no summary covers."""
        out: list[Stretch] = []
        low = b""
        for first, last in self.ranges:
            if first > edge:
                break
            out.append((low, just_before(first)))
            low = max(low, last)
        return [gap for gap in (*out, (low, edge)) if gap[0] < gap[1]]

    def _seen_nowhere(self, gap: Stretch) -> int:
        """Return the visible messages of a stretch that are not shown out of place."""
        low, high = gap
        key = ("gap", self.sheet.thread, gap, self.sheet.standing.rare)
        if key not in self.memo:  # it ends before the window, where only a rare event can change anything
            self.memo[key] = self._visible((low, high))
        count = self.memo[key]
        if not count:
            return 0
        count -= sum(self._count_cropped(crop, gap, shown=True) for crop in self.crops)
        inside = [ref for ref, place in self._apart().items() if low < place <= high]
        return count - sum(not any(c.holds(ref) for c in self.crops) for ref in inside)

    def _apart(self) -> dict[Ref, bytes]:
        """Return the few messages that are shown although they precede the window, with their positions."""
        window = {m.id for m in self.sheet.window}
        entries = (self.view.entry(ref) for ref in self.shown - window)
        return {entry.message: entry.position for entry in entries if entry is not None}

    def _count_hidden(self, edge: bytes | None) -> int:
        """Return the number of hidden live messages; before the window only a rare event can change it."""
        fresh = self.view.count(after=edge, hidden=True)
        if edge is None:
            return fresh
        key = ("hidden", self.sheet.thread, edge, self.sheet.standing.rare)
        if key not in self.memo:
            self.memo[key] = self.view.count(upto=edge, hidden=True)
        return fresh + self.memo[key]

    def _count_cropped(self, crop: CropMark, gap: Stretch | None, *, shown: bool = False) -> int:
        """Return the visible messages of a crop, in a stretch or anywhere; `shown`: including those that are pinned."""
        key = ("crop", self.sheet.thread, crop.event, gap, self.sheet.standing.rare)
        if key not in self.memo:
            self.memo[key] = self._count_held(crop, gap)
        pinned = 0 if shown else sum(crop.holds(ref) for ref in self.shown)
        return self.memo[key] - pinned

    def _count_held(self, crop: CropMark, gap: Stretch | None) -> int:
        # If nothing was inserted since, its places contain nothing else.
        if not any(e.kind in ARRIVALS for e in self.view.others(crop.written)):
            places = [
                s for low, high in crop.places if (s := _within(gap, just_before(low), high)) is not None
            ]
            return sum(self._visible(place) for place in places)
        found = [self._entry(seq) for first, last in crop.runs for seq in range(first, last + 1)]
        visible = [e for e in found if e is not None and e.live and not e.flags & HIDDEN]
        return sum(gap is None or gap[0] < e.position <= gap[1] for e in visible)

    def _visible(self, place: Stretch) -> int:
        after, upto = place[0] or None, place[1]
        return self.view.count(after=after, upto=upto) - self.view.count(after=after, upto=upto, hidden=True)

    def _entry(self, seq: int) -> Entry | None:
        event = self.view.event(seq)
        message = None if event is None else event.message
        return self.view.entry(message) if message is not None and message.seq == seq else None


def _is_real(message: Message) -> bool:
    return "backscroll" not in message.content.metadata


def _texts(blocks: Sequence[Block], *sections: Section) -> str:
    """Return the condensed texts of some sections, which are not a message's own text."""
    chosen = (b for b in blocks if b.message is None and b.section in sections)
    return "\n".join(p.text for b in chosen for p in b.parts if isinstance(p, Text))


def _within(gap: Stretch | None, low: bytes, high: bytes) -> Stretch | None:
    """Return the overlap of two stretches."""
    if gap is not None:
        low, high = max(low, gap[0]), min(high, gap[1])
    return (low, high) if low < high else None


def _merge_stretches(ranges: Iterable[Stretch]) -> list[Stretch]:
    """Return stretches in order, both ends included, adjacent ones merged."""
    out: list[Stretch] = []
    for first, last in sorted(ranges):
        if out and first <= out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], last))
        else:
            out.append((first, last))
    return out


def pending_in(composer: Composer) -> int:
    """Return how many messages before the window a background worker has not summarized yet."""
    edge, shown = composer.edge, len(composer.sheet.window)
    return composer.thread.reading(lambda view: waiting_for_tree(view, edge, shown)) if edge else 0
