"""Compacting: from units and a target to a compaction.

Owns the order in which things fade: old tool results first, then whole steps to a line, then the oldest leave altogether (far
summaries and notes speak for them). What an earlier compaction condensed stays as it is, byte for byte, as long as it is small
enough, so that only the end of the prompt is written anew. Refuses to touch what is protected; a compaction that does not
shrink the prompt is None. Before: `assemble/marks` says when. After: `assemble/view` shows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil

from backscroll.assemble.compaction import Compaction, Reason
from backscroll.assemble.fade import choose_pieces
from backscroll.assemble.fade_trail import Seen, Trail
from backscroll.assemble.marks import Prices
from backscroll.assemble.notes import choose_notes, values
from backscroll.assemble.units import Unit
from backscroll.assemble.view import Lens, protected, view
from backscroll.vocab.ids import Ref
from backscroll.vocab.prompt import Level


@dataclass(frozen=True, slots=True)
class Plan:
    """How the room of a compaction is shared out."""

    tail: float = 0.45  # of the room beside what is protected: recent units, verbatim
    notes: float = 0.15
    front: float = 0.5  # of the room: what earlier compactions left may take before everything is chosen anew


def compact(
    units: Sequence[Unit],
    current: Compaction | None,
    lens: Lens,
    *,
    target: int,
    reason: Reason = "asked",
    trail: Trail | None = None,
    plan: Plan | None = None,
) -> Compaction | None:
    """A compaction that brings the view down to about `target` tokens; None where it would not shrink it."""
    if not units:
        return None
    trail = trail or Trail(lens.meter).extend(units)
    before = sum(block.tokens for block in view(units, current, lens))
    job = _Job(units, current, lens, trail, plan or Plan(), target)
    made = replace(job.made(), reason=reason, before=before)
    after = sum(block.tokens for block in view(units, made, lens))
    if after >= before:
        return None
    return replace(made, after=after)


class _Job:
    """One compaction being made."""

    def __init__(
        self,
        units: Sequence[Unit],
        current: Compaction | None,
        lens: Lens,
        trail: Trail,
        plan: Plan,
        target: int,
    ) -> None:
        self.units, self.current, self.lens, self.trail, self.plan = units, current, lens, trail, plan
        self.safe = protected(units)
        self.target = target
        self.by_id: dict[Ref, Seen] = {seen.unit.id: seen for seen in trail.seen}
        fixed = sum(self.by_id[u].tokens for u in self.safe)
        self.room = max(target - fixed, 0)

    def tail(self, room: float) -> int:
        """Index of the first unit that stays verbatim."""
        at = len(self.units)
        while at > 0:
            unit = self.units[at - 1]
            cost = 0 if unit.id in self.safe else self.by_id[unit.id].tokens
            if cost > room and at < len(self.units):
                break
            room -= cost
            at -= 1
        return at

    def made(self) -> Compaction:
        """The compaction."""
        units, current = self.units, self.current
        end = self.tail(self.plan.tail * self.room)
        begin = self._front(end)
        front = current if begin and current is not None else Compaction()
        frozen = self._front_tokens(front, begin)
        tail = sum(self.by_id[u.id].tokens for u in units[end:] if u.id not in self.safe)
        room = self.room - frozen - tail
        notes_room = self.plan.notes * self.room
        old = [self.by_id[u.id] for u in units[begin:end] if u.id not in self.safe]
        now = len(self.trail.seen)
        worths = values(self.trail, now)
        levels, base = self._lines(old, 0.5 * (room - notes_room))
        alive = [seen for seen in old if levels[seen.unit.id] is Level.GIST]
        kept = choose_pieces(alive, room - notes_room - base, worths, self.trail)
        shown = set(kept.strings)
        for u in [*units[:begin], *units[end:]]:
            if u.id in self.safe or u.id not in front.levels:
                shown |= self.by_id[u.id].strings
        shown.update(n.text for n in front.notes)
        here = units[end].id if end < len(units) else Ref(units[-1].last.thread, units[-1].last.seq + 1)
        notes = choose_notes(
            worths.items(),
            shown,
            int(notes_room),
            self.lens.meter.count,
            lambda s: self.trail.uses[s].revision,
            here,
        )
        return Compaction(
            upto=units[-1].last,
            start=front.start,
            levels={**front.levels, **levels},
            keeps={**front.keeps, **kept.keeps},
            notes=(*front.notes, *notes),
            cuts=(*front.cuts, here),
        )

    def _front(self, end: int) -> int:
        """Where the part begins that is chosen anew: behind what earlier compactions left, or at the very beginning."""
        if self.current is None or not self.current.cuts:
            return 0
        cut = self.current.cuts[-1]
        at = next((i for i, u in enumerate(self.units) if u.id == cut), 0)
        if not 0 < at < end:
            return 0
        return at if self._front_tokens(self.current, at) <= self.plan.front * self.room else 0

    def _front_tokens(self, front: Compaction, begin: int) -> int:
        if not begin:
            return 0
        blocks = view(self.units[:begin], front, self.lens)
        fixed = sum(self.by_id[u.id].tokens for u in self.units[:begin] if u.id in self.safe)
        return max(sum(b.tokens for b in blocks) - fixed, 0)

    def _lines(self, old: Sequence[Seen], room: float) -> tuple[dict[Ref, Level], float]:
        """Every old unit as a line, the newest first; what does not fit is gone."""
        levels: dict[Ref, Level] = {}
        spent = 0.0
        for seen in reversed(old):
            shown = self.lens.shown(seen.unit, Level.GIST, {})
            cost = self.lens.meter.count(shown) + 1 if isinstance(shown, str) else 0
            spent += cost
            if spent > room:
                spent -= cost
                levels[seen.unit.id] = Level.GONE
            else:
                levels[seen.unit.id] = Level.GIST
        return levels, spent


@dataclass(frozen=True, slots=True)
class Preview:
    """What a compaction would do, before it is done."""

    before: int  # tokens of the view
    after: int
    fading: tuple[tuple[Ref, Level], ...]  # units that would be shown at another level than now, oldest first
    saved: float  # a call, in plain input tokens
    cost: float  # now: what has to be written to the cache anew
    pays_back: int | None  # calls until the saving has paid for it; None: never


def preview(
    units: Sequence[Unit], current: Compaction | None, made: Compaction, lens: Lens, prices: Prices
) -> Preview:
    """What a compaction that was made but not taken would go for."""
    old, new = view(units, current, lens), view(units, made, lens)
    before, after = sum(b.tokens for b in old), sum(b.tokens for b in new)
    same = 0
    for one, other in zip(old, new, strict=False):
        if one.parts != other.parts or one.role != other.role:
            break
        same += one.tokens
    was = current.levels if current else {}
    fading = tuple(
        (u.id, made.levels[u.id]) for u in units if made.levels.get(u.id) not in (None, was.get(u.id))
    )
    saved = prices.read * (before - after)
    cost = prices.write * (after - same) - prices.read * (after - same)
    return Preview(before, after, fading, saved, cost, ceil(cost / saved) if saved > 0 else None)
