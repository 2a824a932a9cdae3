"""Coverage: what became of every live message in one prompt: shown by itself, spoken for by a summary, or neither.

The three numbers add up to the live messages of the thread, exactly. Messages of the window are looked at one by one; what is
before it is counted by the store (no message is read for it), so the cost follows the budget and not the history. Refuses: deciding
what a prompt shows.
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
    """How many live messages a prompt shows, sums up, and leaves out."""

    shown: int  # by themselves, whole or cut
    summarised: int  # a line, a summary of the far past or the summary of a crop speaks for them
    unseen: int  # neither: hidden, or left out for want of room


def coverage_of(composer: Composer, blocks: Sequence[Block]) -> Coverage:
    """Return what became of the live messages of a thread in these blocks."""
    history = History(composer.thread.store, composer.thread.id, composer.sheet.head)
    return history.reading(lambda view: _Account(composer, blocks, view).coverage())


class _Account:
    """One prompt, beside the history that it was made from."""

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
        """Stretches before the window that no summary speaks for."""
        out: list[Stretch] = []
        low = b""
        for first, last in self.ranges:
            if first > edge:
                break
            out.append((low, just_before(first)))
            low = max(low, last)
        return [gap for gap in (*out, (low, edge)) if gap[0] < gap[1]]

    def _seen_nowhere(self, gap: Stretch) -> int:
        """Visible messages of a stretch that are not shown apart."""
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
        """Return messages that are shown although they come before the window, and where: a few."""
        window = {m.id for m in self.sheet.window}
        entries = (self.view.entry(ref) for ref in self.shown - window)
        return {entry.message: entry.position for entry in entries if entry is not None}

    def _count_hidden(self, edge: bytes | None) -> int:
        """Live messages that are hidden; before the window only a rare event can change how many."""
        fresh = self.view.count(after=edge, hidden=True)
        if edge is None:
            return fresh
        key = ("hidden", self.sheet.thread, edge, self.sheet.standing.rare)
        if key not in self.memo:
            self.memo[key] = self.view.count(upto=edge, hidden=True)
        return fresh + self.memo[key]

    def _count_cropped(self, crop: CropMark, gap: Stretch | None, *, shown: bool = False) -> int:
        """Visible messages that a crop holds, in a stretch or anywhere; `shown`: with those that are pinned nonetheless."""
        key = ("crop", self.sheet.thread, crop.event, gap, self.sheet.standing.rare)
        if key not in self.memo:
            self.memo[key] = self._count_held(crop, gap)
        pinned = 0 if shown else sum(crop.holds(ref) for ref in self.shown)
        return self.memo[key] - pinned

    def _count_held(self, crop: CropMark, gap: Stretch | None) -> int:
        # Where nothing came to stand between others since, its places hold nothing else.
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
    """Return the condensed texts of some sections: what is in no message's own words."""
    chosen = (b for b in blocks if b.message is None and b.section in sections)
    return "\n".join(p.text for b in chosen for p in b.parts if isinstance(p, Text))


def _within(gap: Stretch | None, low: bytes, high: bytes) -> Stretch | None:
    """Return what two stretches share."""
    if gap is not None:
        low, high = max(low, gap[0]), min(high, gap[1])
    return (low, high) if low < high else None


def _merge_stretches(ranges: Iterable[Stretch]) -> list[Stretch]:
    """Stretches in order, both ends included, those that touch as one."""
    out: list[Stretch] = []
    for first, last in sorted(ranges):
        if out and first <= out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], last))
        else:
            out.append((first, last))
    return out


def pending_in(composer: Composer) -> int:
    """Return messages before the window that a background worker has not summed up yet."""
    edge, shown = composer.edge, len(composer.sheet.window)
    return composer.thread.reading(lambda view: waiting_for_tree(view, edge, shown)) if edge else 0
