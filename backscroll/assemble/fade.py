"""What stays of what is old: which pieces to the letter, which strings as notes.

Owns the choice under a budget: pieces and notes compete, the most worth per token first, and what is shown already is worth
nothing. Before: `assemble/fade_trail`, `assemble/notes`. After: `assemble/policy` puts the choice into a compaction.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import exp, log1p

from backscroll.assemble.fade_trail import Piece, Seen, Trail
from backscroll.assemble.fade_weights import weights
from backscroll.assemble.notes import worth
from backscroll.assemble.view_pieces import Range, joined
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message

LINES = 1.5  # what a line that is copied is worth beside a string that is used
SPREAD = 3  # pieces to either side that share a score in a fresh result
EDGE = 1.0  # worth of its first and last pieces
AGAIN = 0.7  # of the worth per token a piece must keep when others already show a part of it


@dataclass(frozen=True, slots=True)
class Source:
    """An old unit, and which of its pieces may stay (None: any)."""

    seen: Seen
    allowed: Mapping[Ref, Collection[int]] | None = None


@dataclass(frozen=True, slots=True)
class Kept:
    """The choice: pieces by revision, strings for notes in the order of their worth."""

    keeps: Mapping[Ref, tuple[Range, ...]]
    notes: tuple[str, ...]


class Chooser:
    """One choice under a budget."""

    def __init__(
        self, trail: Trail, shown: set[str], lines: set[str], boost: Callable[[Message], float] | None = None
    ) -> None:
        self.trail, self.shown, self.lines, self.boost = trail, shown, lines, boost
        self.now = len(trail.seen)
        self.worths: dict[str, float] = {}

    def value(self, string: str) -> float:
        """The worth of a string; nothing where it is shown already."""
        known = self.worths.get(string)
        if known is None:
            known = 0.0 if string in self.shown else worth(self.trail.uses[string], self.now)
            self.worths[string] = known
        return known

    def choose(
        self, sources: Sequence[Source], room: float, notes: float, old_notes: Sequence[str] = ()
    ) -> Kept:
        """Pieces and notes within `room` tokens, of which notes take `notes` at the most."""
        ranked = self._pieces(sources)
        ranked += self._strings(sources, old_notes)
        ranked.sort(key=lambda r: (-r[0], r[2]))
        chosen: dict[Ref, list[int]] = {}
        said: list[str] = []
        spelled = ""
        late: list[tuple[float, float, tuple[int, ...], Ref | None, Piece | str]] = []
        for round_, queue in enumerate((ranked, late)):
            for item in queue:
                density, cost, _, revision, what = item
                if cost > room:
                    continue
                if isinstance(what, str):
                    if what in self.shown or cost > notes or what in spelled:
                        continue
                    said.append(what)
                    spelled += what + "\n"
                    notes -= cost
                    self.shown.add(what)
                else:
                    if what.line and what.line in self.lines:
                        continue
                    if round_ == 0 and self._left(what, cost) < AGAIN * density:
                        late.append(item)
                        continue
                    assert revision is not None
                    chosen.setdefault(revision, []).append(what.number)
                    self.shown.update(what.strings)
                    self.lines.add(what.line)
                room -= cost
                if room < 4:
                    break
        return Kept({r: joined(sorted(n)) for r, n in chosen.items()}, tuple(said))

    def fresh(self, results: Sequence[tuple[Message, tuple[Piece, ...]]], room: float) -> dict[Ref, tuple[Range, ...]]:
        """What to keep of results that are too large, as runs: beginning, end, and what is near to what was talked about."""
        ranked: list[tuple[float, int, int]] = []
        for at, (_, pieces) in enumerate(results):
            scores = [self._copied(p, 0.0) + sum(self.value(s) for s in p.strings) for p in pieces]
            n = len(pieces)
            worths = [0.0, *accumulate(scores)]
            costs = [0.0, *accumulate(p.tokens for p in pieces)]
            for i in range(n):
                low, high = max(0, i - SPREAD), min(n, i + SPREAD + 1)
                near = (worths[high] - worths[low]) / (high - low)
                cost = (costs[high] - costs[low]) / (high - low) + 0.5
                edge = EDGE * (exp(-i / 8) + exp(-(n - 1 - i) / 8))
                ranked.append(((near + edge) / cost, at, i))
        ranked.sort(key=lambda r: (-r[0], r[1], r[2]))
        chosen: dict[int, list[int]] = {}
        for _, at, i in ranked:
            cost = results[at][1][i].tokens
            if cost > room:
                continue
            room -= cost
            chosen.setdefault(at, []).append(results[at][1][i].number)
        return {results[at][0].revision: joined(sorted(numbers)) for at, numbers in chosen.items()}

    def _left(self, piece: Piece, cost: float) -> float:
        if not piece.strings or not any(s in self.shown and self.value(s) for s in piece.strings):
            return 1e9
        return (
            sum(self.value(s) for s in piece.strings if s not in self.shown) + self._copied(piece, 0)
        ) / cost

    def _copied(self, piece: Piece, age: float) -> float:
        """The chance that a line is copied as it is."""
        if not piece.line or piece.line in self.lines:
            return 0.0
        table = weights().line
        score = piece.chance + table["age"] * age
        if self.trail.lines[piece.line] > 1:
            score += table["repeated"]
        if piece.strings:
            uses = self.trail.uses
            spoken = sum(1 for s in piece.strings if uses[s].words or uses[s].arguments)
            score += table["spoken"] * log1p(spoken)
        return LINES / (1 + exp(-score))

    def _pieces(
        self, sources: Sequence[Source]
    ) -> list[tuple[float, float, tuple[int, ...], Ref | None, Piece | str]]:
        out: list[tuple[float, float, tuple[int, ...], Ref | None, Piece | str]] = []
        value = self.value
        for source in sources:
            age = log1p(self.now - source.seen.number)
            for at, (message, pieces) in enumerate(source.seen.pieces):
                factor = self.boost(message) if self.boost else 1.0
                allowed = None if source.allowed is None else source.allowed.get(message.revision, ())
                for piece in pieces:
                    if allowed is not None and piece.number not in allowed:
                        continue
                    worth_ = self._copied(piece, age)
                    for string in piece.strings:
                        worth_ += value(string)
                    if worth_ > 0.0:
                        cost = piece.tokens + 1.5
                        out.append(
                            (
                                factor * worth_ / cost,
                                cost,
                                (source.seen.number, at, piece.number),
                                message.revision,
                                piece,
                            )
                        )
        return out

    def _strings(
        self, sources: Sequence[Source], old_notes: Sequence[str]
    ) -> list[tuple[float, float, tuple[int, ...], Ref | None, Piece | str]]:
        strings = set(self.trail.uses)
        count = self.trail.meter.count
        out: list[tuple[float, float, tuple[int, ...], Ref | None, Piece | str]] = []
        for string in sorted(strings):
            if string not in self.trail.uses:
                continue
            value = self.value(string)
            if value > 0.004:
                cost = count(string) + 1
                out.append((value / cost, cost, (0,), None, string))
        return out
