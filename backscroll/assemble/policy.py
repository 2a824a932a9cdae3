"""Compacting: from units and a target to a compaction.

Owns the order in which things fade: old tool results first, then whole steps to a line, then the oldest leave altogether (far
summaries and notes speak for them). What an earlier compaction condensed stays as it is, byte for byte, as long as it is small
enough, so that only the end of the prompt is written anew. Refuses to touch what is protected; a compaction that does not
shrink the prompt is None. Before: `assemble/marks` says when. After: `assemble/view` shows it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil

from backscroll.assemble.compaction import Compaction, Note, Reason
from backscroll.assemble.fade import Boost, Chooser, Source
from backscroll.assemble.fade_trail import Trail, strings_in_text
from backscroll.assemble.marks import Prices
from backscroll.assemble.units import Unit
from backscroll.assemble.view import Lens, protected, view
from backscroll.assemble.view_meter import rough
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message
from backscroll.vocab.part import Text, ToolResult
from backscroll.vocab.prompt import Block, Level

SPARE = 0.2  # of the room, for what is condensed, however large the newest step is
CALLS = 0.8  # of a cap: where the calls themselves take more, cutting their results helps little


@dataclass(frozen=True, slots=True)
class Plan:
    """How the room of a compaction is shared out: all shares are of what is left beside what is protected."""

    tail: float = 0.45  # recent units, verbatim
    notes: float = 0.4  # of what is left for condensed text
    lines: float = 0.3  # one line for every old unit, at the most
    front: float = 0.5  # what earlier compactions left may take so much before everything is chosen anew


def compact(
    units: Sequence[Unit],
    current: Compaction | None,
    lens: Lens,
    *,
    target: int,
    reason: Reason = "asked",
    trail: Trail | None = None,
    plan: Plan | None = None,
    boost: Boost | None = None,
    safe: Mapping[Ref, str] | None = None,
    before: int | None = None,
    dead: Collection[Ref] = frozenset(),
) -> Compaction | None:
    """A compaction that brings the view down to about `target` tokens; None where it would not shrink it.

    `boost` is what was learned, `dead` are revisions that are no longer live (their notes go). `trail`, `safe` and `before`
    save looking again at what the caller knows already.
    """
    if not units:
        return None
    if current is not None and dead:
        current = replace(current, notes=tuple(note for note in current.notes if note.source not in dead))
    trail = trail or Trail(lens.meter, lens.slots).extend(units)
    safe = protected(units) if safe is None else safe
    if before is None:
        before = sum(block.tokens for block in view(units, current, lens, safe=safe))
    made = _Job(units, current, lens, trail, plan or Plan(), target, boost, safe).made()
    after = sum(block.tokens for block in view(units, made, lens, safe=safe))
    if after >= before:
        return None
    return replace(made, reason=reason, before=before, after=after)


def trim(
    units: Sequence[Unit],
    current: Compaction | None,
    lens: Lens,
    *,
    cap: int,
    trail: Trail,
    boost: Boost | None = None,
    safe: Mapping[Ref, str] | None = None,
) -> Compaction | None:
    """Cut a newest unit that is larger than `cap` before anybody caches it; None where there is nothing to cut.

    What stands before it is not touched, so this costs nothing but the words that are left out. The unit itself need not be
    on the trail yet.
    """
    unit = units[-1]
    sizes = [lens.meter.message(m) for m in unit.messages]
    if sum(sizes) <= cap or unit.id in (protected(units) if safe is None else safe):
        return None
    leaves = trail.leaves(unit)
    results = [leaf for leaf in leaves if leaf.message.role == "tool"]
    others = sum(n for n, m in zip(sizes, unit.messages, strict=True) if m.role != "tool")
    if not results or others > CALLS * cap or not all(_is_text(leaf.message) for leaf in results):
        return None
    keeps = Chooser(trail, set(), set(), boost).fresh(results, cap - others)
    for leaf in leaves:
        if leaf.message.role != "tool" and leaf.lines:
            keeps[leaf.message.revision] = ((0, len(leaf.lines)),)
    base = current or Compaction()
    levels = {**base.levels, unit.id: Level.DIGEST}
    return replace(base, upto=unit.last, levels=levels, keeps={**base.keeps, **keeps}, reason="pays")


def _is_text(message: Message) -> bool:
    """True where a message holds results that consist of words only: a picture that was just made is looked at whole."""
    return all(
        isinstance(part, ToolResult) and all(isinstance(c, Text) for c in part.content)
        for part in message.parts
    )


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
        boost: Boost | None,
        safe: Mapping[Ref, str],
    ) -> None:
        self.units, self.current, self.lens, self.trail, self.plan = units, current, lens, trail, plan
        self.boost = boost
        self.safe = safe
        self.room = max(target - sum(self._size(u) for u in self.safe), 0)

    def _size(self, unit: Ref) -> int:
        return self.trail.by_id[unit].tokens

    def made(self) -> Compaction:
        """The compaction."""
        units = self.units
        end = self._tail(self.plan.tail * self.room)
        begin, front, frozen = self._front(end)
        tail = sum(self._now(u) for u in units[end:] if u.id not in self.safe)
        room = max(self.room - frozen - tail, SPARE * self.room)
        sources = self._sources(begin, end)
        levels, base, alive = self._lines(sources, self.plan.lines * room)
        front = self._with_tail(front, end)
        shown, lines = self._shown(begin, end, front, alive)
        carried = {note.text: note.source for note in self.current.notes} if self.current else {}
        chooser = Chooser(self.trail, shown, lines, self.boost)
        kept = chooser.choose(alive, room - base, self.plan.notes * (room - base), sources, list(carried))
        here = units[end].id if end < len(units) else Ref(units[-1].last.thread, units[-1].last.seq + 1)
        uses = self.trail.uses
        notes = [Note(t, uses[t].revision if t in uses else carried[t], here) for t in kept.notes]
        return Compaction(
            upto=units[-1].last,
            start=self._start(levels) if begin == 0 else front.start,
            levels={**front.levels, **levels},
            keeps={**front.keeps, **kept.keeps},
            notes=(*front.notes, *notes),
            cuts=(*front.cuts, here),
        )

    def _start(self, levels: Mapping[Ref, Level]) -> Ref | None:
        """The first unit that is shown by itself, where some before it are gone."""
        gone = False
        for unit in self.units:
            if levels.get(unit.id, Level.VERBATIM) >= Level.SUMMARY:
                gone = True
            elif unit.role != "system":
                return unit.id if gone else None
        return None

    def _now(self, unit: Unit) -> int:
        """Tokens of a unit as it is shown now: a fresh result may have been cut already."""
        current = self.current
        if current is None or current.levels.get(unit.id) is not Level.DIGEST:
            return self._size(unit.id)
        shown = self.lens.shown(unit, Level.DIGEST, current.keeps)
        return sum(block.tokens for block in shown if isinstance(block, Block))

    def _with_tail(self, front: Compaction, end: int) -> Compaction:
        """What was cut when it was fresh stays cut in the tail."""
        current = self.current
        if current is None or front is current:
            return front
        cut = [u for u in self.units[end:] if u.id in current.levels]
        keeps = {r: current.keeps[r] for u in cut for r in u.revisions if r in current.keeps}
        return replace(front, levels={u.id: current.levels[u.id] for u in cut}, keeps=keeps)

    def _tail(self, room: float) -> int:
        """Index of the first unit that stays verbatim to the end."""
        at = len(self.units)
        while at > 0:
            unit = self.units[at - 1]
            cost = 0 if unit.id in self.safe else self._now(unit)
            if cost > room and at < len(self.units):
                break
            room -= cost
            at -= 1
        return at

    def _front(self, end: int) -> tuple[int, Compaction, int]:
        """What earlier compactions left and may stay as it is: where it ends, its choices, its tokens."""
        current = self.current
        if current is not None and current.cuts:
            cut = current.cuts[-1]
            at = next((i for i, u in enumerate(self.units) if u.id == cut), 0)
            if 0 < at < end:
                blocks = view(self.units[:at], current, self.lens, safe=self.safe)
                fixed = sum(self._size(u.id) for u in self.units[:at] if u.id in self.safe)
                frozen = max(sum(b.tokens for b in blocks) - fixed, 0)
                if frozen <= self.plan.front * self.room:
                    return at, current, frozen
        return 0, Compaction(), 0

    def _sources(self, begin: int, end: int) -> list[Source]:
        """Old units and what may be kept of them: of what was condensed before, no more than what was left of it."""
        was = self.current
        out: list[Source] = []
        for unit in self.units[begin:end]:
            if unit.id in self.safe:
                continue
            allowed = None
            if was is not None and was.levels.get(unit.id, Level.DIGEST) is not Level.DIGEST:
                if was.levels[unit.id] >= Level.SUMMARY:
                    allowed = {}
                else:
                    allowed = {
                        r: {n for a, b in was.keeps.get(r, ()) for n in range(a, b)} for r in unit.revisions
                    }
            out.append(Source(self.trail.by_id[unit.id], allowed))
        return out

    def _shown(
        self, begin: int, end: int, front: Compaction, alive: Sequence[Source]
    ) -> tuple[set[str], set[str]]:
        """Strings and lines that stand in the prompt anyway."""
        strings = {note.text for note in front.notes}
        lines: set[str] = set()
        for at, unit in enumerate(self.units):
            seen = self.trail.by_id[unit.id]
            if begin <= at < end and unit.id not in self.safe:
                continue
            if unit.id in self.safe or unit.id not in front.levels:
                strings |= seen.strings
                lines |= seen.lines
                continue
            for leaf in seen.leaves:
                ranges = front.keeps.get(leaf.message.revision)
                if ranges:
                    said, copied = self.trail.left(leaf, ranges)
                    strings |= said
                    lines |= copied
        for source in alive:
            shown = self.lens.shown(source.seen.unit, Level.GIST, {})
            if isinstance(shown, str):
                strings |= strings_in_text(shown)
        return strings, lines

    def _lines(self, sources: Sequence[Source], room: float) -> tuple[dict[Ref, Level], float, list[Source]]:
        """Every old unit as a line, the newest (and what was missed before) first; what does not fit is gone."""
        levels: dict[Ref, Level] = {}
        alive: list[Source] = []
        spent = 0.0
        order = list(reversed(sources))
        boost = self.boost
        if boost is not None:
            order.sort(key=lambda source: -max(boost(m) for m in source.seen.unit.messages))
        for source in order:
            unit = source.seen.unit
            shown = self.lens.shown(unit, Level.GIST, {})
            cost = rough(shown) + 1 if isinstance(shown, str) else 0
            if spent + cost > room:
                levels[unit.id] = Level.GONE
            else:
                spent += cost
                levels[unit.id] = Level.GIST
                alive.append(source)
        alive.sort(key=lambda source: source.seen.number)
        return {s.seen.unit.id: levels[s.seen.unit.id] for s in sources}, spent, alive


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
    was = (current or Compaction()).levels
    fading = tuple((unit, level) for unit, level in made.levels.items() if level is not was.get(unit))
    saved = prices.read * (before - after)
    cost = prices.write * (after - same) - prices.read * (after - same)
    return Preview(before, after, fading, saved, cost, ceil(cost / saved) if saved > 0 else None)
