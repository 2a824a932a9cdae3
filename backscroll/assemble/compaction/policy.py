"""The compaction policy: from units and a target to a compaction.

Owns the order of condensing: old tool results first, then whole steps to a line, then the oldest are dropped (far
summaries and notes represent them). What an earlier compaction condensed is unchanged, byte for byte, as long as it is small
enough, so that only the end of the prompt is rewritten. Does not touch what is protected; a compaction that does not shrink
the prompt is None.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from math import inf

from backscroll.assemble.compaction.retention import Boost, PieceSelector, RetentionUnit
from backscroll.assemble.compaction.trail import Trail, strings_in_text
from backscroll.assemble.compaction.tuning import (
    FIT_ROUNDS,
    NEARLY_FULL,
    RESULT_FLOOR,
    RETRY_SHARE,
    SPARE,
    CompactionRoom,
)
from backscroll.assemble.view.compaction import Compaction, CompactionNote, Reason
from backscroll.assemble.view.meter import rough
from backscroll.assemble.view.pieces import Range
from backscroll.assemble.view.units import Unit, fresh_units
from backscroll.assemble.view.view import RenderContext, find_protected_units, view
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message
from backscroll.vocab.part import Text, ToolResult
from backscroll.vocab.prompt import Block, Level


def compact(
    units: Sequence[Unit],
    current: Compaction | None,
    lens: RenderContext,
    *,
    target: int,
    reason: Reason = "asked",
    trail: Trail | None = None,
    plan: CompactionRoom | None = None,
    boost: Boost | None = None,
    safe: Mapping[Ref, str] | None = None,
    before: int | None = None,
    dead: Collection[Ref] = frozenset(),
    fresh: Collection[Ref] = frozenset(),
    cap: int | None = None,
    limit: int | None = None,
) -> Compaction | None:
    """Return a compaction that brings the view down to about `target` tokens; None if it would not shrink it.

    `boost` is what was learned, `dead` are revisions that are no longer live (their notes go). `trail`, `safe` and `before` save
    repeated work if the caller has these already. Units in `fresh` stay as they are shown: the model has not seen them yet. A
    step among the newest that takes more than `cap` tokens is condensed first, by its results. What earlier compactions left may
    pass the target for a while, but not `limit`.
    """
    if not units:
        return None
    if current is not None and dead:
        current = replace(current, notes=tuple(note for note in current.notes if note.source not in dead))
    trail = trail or Trail(lens.meter, lens.slots).extend(units)
    safe = find_protected_units(units) if safe is None else safe
    if before is None:
        before = sum(block.tokens for block in view(units, current, lens, safe=safe))
    made = _CompactionJob(
        units, current, lens, trail, plan or CompactionRoom(), target, boost, safe, fresh, cap, limit
    ).make_compaction()
    after = sum(block.tokens for block in view(units, made, lens, safe=safe))
    if after >= before:
        return None
    return replace(made, reason=reason, before=before, after=after)


def trim(
    units: Sequence[Unit],
    current: Compaction | None,
    lens: RenderContext,
    *,
    cap: int,
    trail: Trail,
    boost: Boost | None = None,
    safe: Mapping[Ref, str] | None = None,
) -> Compaction | None:
    """Cut the results of a newest step that does not fit, down to `cap` tokens for all of it; None if there is nothing to cut.

    Every result gets its share. What comes before the step is not touched. The step itself need not be on the trail yet.
    """
    unit = next((u for u in reversed(fresh_units(units)) if u.role in ("assistant", "tool")), None)
    if unit is None or unit.id in (find_protected_units(units) if safe is None else safe):
        return None
    keeps = _cut_step(unit, lens, trail, cap, boost)
    if keeps is None:
        return None
    base = current or Compaction()
    levels = {**base.levels, unit.id: Level.DIGEST}
    return replace(base, upto=units[-1].last, levels=levels, keeps={**base.keeps, **keeps}, reason="must")


def _cut_step(
    unit: Unit, lens: RenderContext, trail: Trail, cap: int, boost: Boost | None
) -> dict[Ref, tuple[Range, ...]] | None:
    """Return what to keep of a step so that it takes about `cap` tokens: of its results a share each, of the rest everything."""
    sizes = [lens.meter.message(m) for m in unit.messages]
    leaves = trail.leaves(unit)
    results = [leaf for leaf in leaves if leaf.message.role == "tool" and _is_text(leaf.message)]
    mine = {leaf.message.revision for leaf in results}
    others = sum(n for n, m in zip(sizes, unit.messages, strict=True) if m.revision not in mine)
    whole = {
        leaf.message.revision: ((0, len(leaf.lines)),)
        for leaf in leaves
        if leaf.message.revision not in mine and leaf.lines
    }
    if not results or sum(sizes) <= cap:
        return None
    chooser = PieceSelector(trail, set(), set(), boost)
    want = room = max(cap - others, RESULT_FLOOR * len(results))
    best: dict[Ref, tuple[Range, ...]] = {}
    keeps = best
    for _ in range(FIT_ROUNDS):
        keeps = {**whole, **chooser.fresh(results, room)}
        shown = lens.show_unit(unit, Level.DIGEST, keeps)
        got = sum(b.tokens for b in shown if isinstance(b, Block)) - others
        if got <= want:
            best = keeps
            if got >= NEARLY_FULL * want:
                break
        room *= want / max(got, 1) * (1 if got <= want else RETRY_SHARE)
    return best or keeps


def _is_text(message: Message) -> bool:
    """Return True if a message contains only text results: a new picture is shown whole."""
    return all(
        isinstance(part, ToolResult) and all(isinstance(c, Text) for c in part.content)
        for part in message.parts
    )


class _CompactionJob:
    """The state of one compaction."""

    def __init__(
        self,
        units: Sequence[Unit],
        current: Compaction | None,
        lens: RenderContext,
        trail: Trail,
        plan: CompactionRoom,
        target: int,
        boost: Boost | None,
        safe: Mapping[Ref, str],
        fresh: Collection[Ref],
        cap: int | None,
        limit: int | None,
    ) -> None:
        self.units, self.current, self.lens, self.trail, self.plan = units, current, lens, trail, plan
        self.boost = boost
        self.safe = safe
        self.fresh = frozenset(fresh) - frozenset(safe)
        self.cap = cap
        self.held = sum(self._now(u) for u in units if u.id in self.fresh)
        self.room = max(target - self.held - sum(self._size(u) for u in self.safe), 0)
        self.most = inf if limit is None else self.room + max(limit - target, 0)

    def _size(self, unit: Ref) -> int:
        return self.trail.by_id[unit].tokens

    def make_compaction(self) -> Compaction:
        """Return the compaction."""
        units = self.units
        end, tail, cuts = self._tail(self.plan.tail * self.room)
        begin, front, frozen = self._front(end, tail)
        room = max(self.room - frozen - tail, SPARE * self.room)
        sources = self._sources(begin, end)
        levels, base, alive = self._lines(sources, self.plan.lines * room)
        front = self._with_tail(front, end, cuts)
        shown, lines = self._collect_shown(begin, end, front, alive)
        carried = {note.text: note.source for note in self.current.notes} if self.current else {}
        chooser = PieceSelector(self.trail, shown, lines, self.boost)
        kept = chooser.choose(alive, room - base, self.plan.notes * (room - base), sources, list(carried))
        here = units[end].id if end < len(units) else Ref(units[-1].last.thread, units[-1].last.seq + 1)
        uses = self.trail.uses
        notes = [CompactionNote(t, uses[t].revision if t in uses else carried[t], here) for t in kept.notes]
        chosen = {r for source in sources for r in source.seen.unit.revisions}
        before = {r: ranges for r, ranges in front.keeps.items() if r not in chosen}
        return Compaction(
            upto=units[-1].last,
            start=self._start(levels) if begin == 0 else front.start,
            levels={**front.levels, **levels},
            keeps={**before, **kept.keeps},
            notes=(*front.notes, *notes),
            cuts=(*front.cuts, here),
            fresh=self.held,
        )

    def _start(self, levels: Mapping[Ref, Level]) -> Ref | None:
        """Return the first unit shown by itself, if some before it are gone."""
        gone = False
        for unit in self.units:
            if levels.get(unit.id, Level.VERBATIM) >= Level.SUMMARY:
                gone = True
            elif unit.role != "system":
                return unit.id if gone else None
        return None

    def _now(self, unit: Unit) -> int:
        """Return tokens of a unit as it is currently shown: a fresh result may have been cut already."""
        current = self.current
        if current is None or current.levels.get(unit.id) is not Level.DIGEST:
            return self._size(unit.id)
        shown = self.lens.show_unit(unit, Level.DIGEST, current.keeps)
        return sum(block.tokens for block in shown if isinstance(block, Block))

    def _with_tail(
        self, front: Compaction, end: int, cuts: Mapping[Ref, Mapping[Ref, tuple[Range, ...]]]
    ) -> Compaction:
        """Add results cut on arrival and giants that were seen: both are cut in the tail."""
        current = self.current
        if current is not None and front is not current:
            cut = [u for u in self.units[end:] if u.id in current.levels]
            keeps = {r: current.keeps[r] for u in cut for r in u.revisions if r in current.keeps}
            front = replace(front, levels={u.id: current.levels[u.id] for u in cut}, keeps=keeps)
        levels = dict.fromkeys(cuts, Level.DIGEST)
        kept = {r: ranges for keeps in cuts.values() for r, ranges in keeps.items()}
        return replace(front, levels={**front.levels, **levels}, keeps={**front.keeps, **kept})

    def _tail(self, room: float) -> tuple[int, int, dict[Ref, dict[Ref, tuple[Range, ...]]]]:
        """Return the first unit that is unchanged up to the end, the tokens from there on, and what remains of giants among them."""
        at, spent = len(self.units), 0
        cuts: dict[Ref, dict[Ref, tuple[Range, ...]]] = {}
        while at > 0:
            unit = self.units[at - 1]
            cost, keeps = 0, None
            if unit.id not in self.safe and unit.id not in self.fresh:
                cost, keeps = self._recent(unit)
            if spent + cost > room and at < len(self.units):
                break
            if keeps is not None:
                cuts[unit.id] = keeps
            spent += cost
            at -= 1
        return at, spent, cuts

    def _recent(self, unit: Unit) -> tuple[int, dict[Ref, tuple[Range, ...]] | None]:
        """Return tokens of a unit of the tail, and what remains of it if it is a giant."""
        now = self._now(unit)
        if self.cap is None or now <= self.cap or unit.role not in ("assistant", "tool"):
            return now, None
        keeps = _cut_step(unit, self.lens, self.trail, self.cap, self.boost)
        if keeps is None:
            return now, None
        shown = self.lens.show_unit(unit, Level.DIGEST, keeps)
        cost = sum(block.tokens for block in shown if isinstance(block, Block))
        return (cost, keeps) if cost < now else (now, None)

    def _front(self, end: int, tail: int) -> tuple[int, Compaction, int]:
        """Return what earlier compactions left and can stay unchanged: its end, its choices, its tokens."""
        current = self.current
        if current is not None and current.cuts:
            cut = current.cuts[-1]
            at = next((i for i, u in enumerate(self.units) if u.id == cut), 0)
            if 0 < at < end:
                blocks = view(self.units[:at], current, self.lens, safe=self.safe)
                fixed = sum(self._size(u.id) for u in self.units[:at] if u.id in self.safe)
                frozen = max(sum(b.tokens for b in blocks) - fixed, 0)
                if frozen <= min(self.plan.front * self.room, self.most - tail - SPARE * self.room):
                    return at, current, frozen
        return 0, Compaction(), 0

    def _sources(self, begin: int, end: int) -> list[RetentionUnit]:
        """Return old units and what may be kept of them: of a unit condensed before, no more than remained of it."""
        was = self.current
        out: list[RetentionUnit] = []
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
            out.append(RetentionUnit(self.trail.by_id[unit.id], allowed))
        return out

    def _collect_shown(
        self, begin: int, end: int, front: Compaction, alive: Sequence[RetentionUnit]
    ) -> tuple[set[str], set[str]]:
        """Collect strings and lines that the prompt shows anyway."""
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
                    said, copied = self.trail.find_remaining(leaf, ranges)
                    strings |= said
                    lines |= copied
        for source in alive:
            shown = self.lens.show_unit(source.seen.unit, Level.GIST, {})
            if isinstance(shown, str):
                strings |= strings_in_text(shown)
        return strings, lines

    def _lines(
        self, sources: Sequence[RetentionUnit], room: float
    ) -> tuple[dict[Ref, Level], float, list[RetentionUnit]]:
        """Return every old unit as a line, the newest (and those missed before) first; what does not fit is dropped."""
        levels: dict[Ref, Level] = {}
        alive: list[RetentionUnit] = []
        spent = 0.0
        order = list(reversed(sources))
        boost = self.boost
        if boost is not None:
            order.sort(key=lambda source: -max(boost(m) for m in source.seen.unit.messages))
        for source in order:
            unit = source.seen.unit
            shown = self.lens.show_unit(unit, Level.GIST, {})
            cost = rough(shown) + 1 if isinstance(shown, str) else 0
            if spent + cost > room:
                levels[unit.id] = Level.GONE
            else:
                spent += cost
                levels[unit.id] = Level.GIST
                alive.append(source)
        alive.sort(key=lambda source: source.seen.number)
        return {s.seen.unit.id: levels[s.seen.unit.id] for s in sources}, spent, alive
