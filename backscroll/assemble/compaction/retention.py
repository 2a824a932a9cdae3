"""Retention: which old pieces stay verbatim, and which strings are kept as notes.

Owns the choice within a budget: pieces and notes compete by worth per token, and what is already shown has no
worth. Pieces are kept for their lines, notes for their strings.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby
from math import exp, log, log1p
from operator import attrgetter, itemgetter
from typing import NamedTuple, TypeAlias

from backscroll.assemble.compaction.notes import worth
from backscroll.assemble.compaction.trail import (
    Trail,
    TrailMessage,
    TrailUnit,
    parts_of_strings,
    strings_in_text,
    tokens_in_text,
)
from backscroll.assemble.compaction.tuning import (
    CARRIED,
    COPIED_LINE,
    CRUMB,
    EDGE,
    FAINT,
    JOINT,
    SPOKEN,
    SPREAD,
    weights,
)
from backscroll.assemble.view.meter import rough
from backscroll.assemble.view.pieces import LONG, Range, merge_ranges
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message

_LOGS = (0.0, *(log(n / 40) for n in range(1, LONG + 1)))  # how a line's length counts

Boost: TypeAlias = Callable[[Message], float]


@dataclass(frozen=True, slots=True)
class RetentionUnit:
    """An old unit, and which of its pieces may stay (None: any)."""

    seen: TrailUnit
    allowed: Mapping[Ref, Collection[int]] | None = None


@dataclass(frozen=True, slots=True)
class RetentionResult:
    """The choice: pieces by revision, strings for notes in the order of their worth."""

    keeps: Mapping[Ref, tuple[Range, ...]]
    notes: tuple[str, ...]


#: A piece that may stay: worth per token (negative, so that the best come first), its unit, its message, its number
#: there, its cost, its message.
_Item: TypeAlias = tuple[float, int, int, int, float, TrailMessage]
_PLACE = itemgetter(0, 1, 2, 3)


class PieceSelector:
    """One choice within a budget. `shown` and `lines` are strings and lines that the prompt shows anyway."""

    def __init__(self, trail: Trail, shown: set[str], lines: set[str], boost: Boost | None = None) -> None:
        self.trail, self.shown, self.lines, self.boost = trail, shown, lines, boost
        self.now = len(trail.seen)

    def choose(
        self,
        sources: Sequence[RetentionUnit],
        room: float,
        notes: float,
        told: Sequence[RetentionUnit] = (),
        carried: Sequence[str] = (),
    ) -> RetentionResult:
        """Return pieces of `sources` and notes of the strings in `told`, within `room` tokens; `notes` tokens are reserved for notes."""
        keeps, spent = self._choose_ranges(sources, room - notes)
        return RetentionResult(keeps, tuple(self._choose_notes(told or sources, carried, room - spent)))

    def _choose_ranges(
        self, sources: Sequence[RetentionUnit], room: float
    ) -> tuple[dict[Ref, tuple[Range, ...]], float]:
        chosen: dict[Ref, list[int]] = {}
        leaves: dict[Ref, TrailMessage] = {}
        spent = 0.0
        for _, _, _, number, cost, leaf in self._items(sources):
            if spent + cost > room:
                if room - spent < CRUMB:
                    break
                continue
            line = leaf.lines[number]
            if line in self.lines:
                continue
            self.lines.add(line)
            spent += cost
            revision = leaf.message.revision
            leaves[revision] = leaf
            chosen.setdefault(revision, []).append(number)
        keeps = {revision: merge_ranges(sorted(numbers)) for revision, numbers in chosen.items()}
        for revision, ranges in keeps.items():
            self.shown |= strings_in_text(leaves[revision].pieces(ranges))
        return keeps, spent

    def _items(self, sources: Sequence[RetentionUnit]) -> list[_Item]:
        """Return every line of the sources that may be kept, the highest probability per token of being copied first."""
        out: list[_Item] = []
        for source in sources:
            number = source.seen.number
            age = log1p(self.now - number)
            for at, leaf in enumerate(source.seen.leaves):
                allowed = None if source.allowed is None else source.allowed.get(leaf.message.revision, ())
                if allowed is not None and not allowed:
                    continue
                factor = -self.boost(leaf.message) if self.boost else -1.0
                rate = leaf.rate
                for piece, length, chance in self._chances(leaf, age):
                    if allowed is None or piece in allowed:
                        cost = rate * length + JOINT
                        out.append((factor * chance / cost, number, at, piece, cost, leaf))
        out.sort(key=_PLACE)
        return out

    def _chances(self, leaf: TrailMessage, age: float) -> list[tuple[int, int, float]]:
        """Return number, length and probability of being copied for every line that is not already shown."""
        table = weights().line
        shown, met = self.lines, self.trail.lines
        by_length, repeated = table["length"], table["repeated"]
        out: list[tuple[int, int, float]] = []
        lines = leaf.lines
        for slot in leaf.slots:
            common = table["bias"] + table["text"] * log(len(slot.pieces) or 1) + table["age"] * age
            common += table.get(slot.kind, 0.0)
            for number, piece in enumerate(slot.pieces, slot.first):
                line = lines[number]
                if line and line not in shown:
                    score = common + by_length * _LOGS[min(len(line), LONG)]
                    if met.get(line, 0) > 1:
                        score += repeated
                    out.append((number, len(piece), 1 / (1 + exp(-score))))
        return out

    def _choose_notes(
        self, sources: Sequence[RetentionUnit], carried: Sequence[str], room: float
    ) -> Iterator[str]:
        """Yield strings that are not shown, the highest worth per token first, without substrings of longer ones."""
        uses, now = self.trail.uses, self.now
        strings = self.trail.spoken.union(*(source.seen.strings for source in sources))
        strings.update(carried)
        strings.update(entry.text for entry in self.trail.earlier)
        strings -= self.shown
        strings -= parts_of_strings(self.shown)
        ranked: list[tuple[float, str, float]] = []
        for string in strings:
            use = uses.get(string)
            value = CARRIED if use is None else worth(use, now)
            if value > FAINT:
                cost = JOINT + rough(string)
                ranked.append((-value / cost, string, cost))
        ranked.sort()
        spelled = ""
        for _, string, cost in ranked:
            if cost <= room and string not in spelled:
                room -= cost
                spelled += string + "\n"
                yield string
            elif room < CRUMB:
                break

    def fresh(self, results: Sequence[TrailMessage], room: float) -> dict[Ref, tuple[Range, ...]]:
        """Return what to keep of results that are too large, as runs: beginning, end, and what is close to the conversation's subject.

        Small results stay whole, and large ones get equal shares.
        """
        portions = [(leaf, portion) for leaf in results for portion in _portions(leaf)]
        level = water_level([portion.cost for _, portion in portions], room)
        heats = {leaf.message.revision: self._heat(leaf) for leaf, p in portions if p.cost > level}
        out: dict[Ref, list[int]] = {}
        for leaf, portion in portions:
            numbers = out.setdefault(leaf.message.revision, [])
            first, last = portion.first, portion.first + len(portion.costs)
            if portion.cost <= level:
                numbers += range(first, last)
            else:
                heat = heats[leaf.message.revision][first:last]
                numbers += (first + i for i in _hottest(heat, portion.costs, level))
        return {revision: merge_ranges(numbers) for revision, numbers in out.items() if numbers}

    def _heat(self, leaf: TrailMessage) -> list[float]:
        """Return how likely each piece of a fresh result is to be needed: by its strings, and by what the conversation mentioned."""
        trail, now = self.trail, self.now
        worths: dict[str, float] = {}
        out = [0.0] * len(leaf.lines)
        for number, _, chance in self._chances(leaf, 0.0):
            out[number] = COPIED_LINE * chance
        for slot in leaf.slots:
            ends = list(accumulate(map(len, slot.pieces)))
            number = 0
            for string, place in tokens_in_text("".join(slot.pieces)):
                value = worths.get(string)
                if value is None:
                    use = trail.uses.get(string)
                    spoken = SPOKEN if string in trail.spoken else 1.0
                    value = worths[string] = 0.0 if use is None else worth(use, now) * spoken
                while ends[number] <= place:
                    number += 1
                out[slot.first + number] += value
        return out


class _Portion(NamedTuple):
    """One result of a message: the number of its first piece, what its pieces cost, what all of it costs."""

    first: int
    costs: list[float]
    cost: float


def _portions(leaf: TrailMessage) -> Iterator[_Portion]:
    for _, slots in groupby(leaf.slots, attrgetter("part")):
        own = list(slots)
        costs = [leaf.rate * len(piece) for slot in own for piece in slot.pieces]
        yield _Portion(own[0].first, costs, sum(costs))


def _hottest(heat: Sequence[float], costs: Sequence[float], room: float) -> list[int]:
    """Return numbers of the most valuable pieces of one result, within the room, in order."""
    density = _smooth_worths([0.0, *accumulate(heat)], [0.0, *accumulate(costs)])
    chosen: list[int] = []
    for i in sorted(range(len(costs)), key=lambda i: (-density[i], i)):
        if costs[i] <= room:
            room -= costs[i]
            chosen.append(i)
        elif room < CRUMB:
            break
    return sorted(chosen)


def water_level(weights: Sequence[float], room: float) -> float:
    """Return the highest share that each may take so that all fit: smaller ones take only what they need."""
    left, many = room, len(weights)
    for weight in sorted(weights):
        if weight * many >= left:
            break
        left -= weight
        many -= 1
    return left / max(many, 1)


def _smooth_worths(worths: Sequence[float], costs: Sequence[float]) -> list[float]:
    """Return the worth per token around each piece, from running sums; the first and the last pieces are worth more."""
    n, wide = len(worths) - 1, 2 * SPREAD + 1
    middle = zip(worths[wide:], worths, costs[wide:], costs, strict=False)
    out = [(w2 - w1) / (c2 - c1 + 0.5 * wide) for w2, w1, c2, c1 in middle]
    out = [0.0] * SPREAD + out + [0.0] * SPREAD if out else [0.0] * n
    for i in {*range(min(n, 60)), *range(max(0, n - 60), n)}:
        low, high = max(0, i - SPREAD), min(n, i + SPREAD + 1)
        edge = EDGE * (exp(-i / 8) + exp((i + 1 - n) / 8))
        worth_ = worths[high] - worths[low] + edge * (high - low)
        out[i] = worth_ / (costs[high] - costs[low] + 0.5 * (high - low))
    return out
