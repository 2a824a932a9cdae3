"""What stays of what is old: which pieces to the letter, which strings as notes.

Owns the choice under a budget: pieces and notes compete, the most worth per token first, and what is shown already is worth
nothing. Before: `assemble/fade_trail`, `assemble/notes`. After: `assemble/policy` puts the choice into a compaction.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import exp, log1p
from typing import NamedTuple, TypeAlias

from backscroll.assemble.fade_trail import Piece, Seen, Trail
from backscroll.assemble.fade_weights import weights
from backscroll.assemble.notes import worth
from backscroll.assemble.view_meter import rough
from backscroll.assemble.view_pieces import Range, joined
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message

LINES = 10.0  # what a line that is copied is worth beside a string that is used
SPREAD = 3  # pieces to either side that share a score in a fresh result
EDGE = 2.0  # worth of its first and last pieces
SPOKEN = 2.0  # in a fresh result, what was talked about before is worth so much more
AGAIN = 0.7  # of the worth per token a piece must keep when others already show a part of it
FAINT = 0.004  # chances below this are not worth looking at
JOINT = 1.5  # tokens that a gap or a separator costs

Boost: TypeAlias = Callable[[Message], float]


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


class _Item(NamedTuple):
    """A piece of a revision, or a string for the notes (no revision). Sorts by worth per token, then by place."""

    density: float  # negative, so that the best come first
    place: tuple[int, ...]
    cost: float
    value: float
    revision: Ref | None
    piece: Piece | None
    text: str


class Chooser:
    """One choice under a budget. `shown` and `lines` are strings and lines that stand in the prompt anyway."""

    def __init__(self, trail: Trail, shown: set[str], lines: set[str], boost: Boost | None = None) -> None:
        self.trail, self.shown, self.lines, self.boost = trail, shown, lines, boost
        self.now = len(trail.seen)
        self.worths: dict[str, float] = dict.fromkeys(shown, 0.0)

    def choose(
        self,
        sources: Sequence[Source],
        room: float,
        notes: float,
        told: Sequence[Source] = (),
        carried: Sequence[str] = (),
    ) -> Kept:
        """Pieces of `sources` and notes of what `told` holds, within `room` tokens; notes take `notes` at the most."""
        taken = _Taken(room - notes)
        queue = sorted(self._pieces(sources))
        late = [item for item in queue if not self._take(item, taken, first=True)]
        for item in late:  # what others showed a part of in the meantime comes last
            self._take(item, taken, first=False)
        taken.room += notes
        for item in sorted(self._strings(told or sources, carried)):
            if item.cost <= taken.room:
                taken.note(item.text, item.cost)
        return Kept({r: joined(sorted(n)) for r, n in taken.pieces.items()}, tuple(taken.notes))

    def _take(self, item: _Item, taken: _Taken, *, first: bool) -> bool:
        """Take an item where it fits and is still worth it; False: ask again later."""
        if item.cost > taken.room:
            return True
        piece = item.piece
        assert piece is not None
        if piece.line and piece.line in self.lines:
            return True
        if first and self._left(piece) < AGAIN * item.value:
            return False
        assert item.revision is not None
        taken.piece(item.revision, piece.number, item.cost)
        self.shown.update(piece.strings)
        self.lines.add(piece.line)
        return True

    def fresh(
        self, results: Sequence[tuple[Message, tuple[Piece, ...]]], room: float
    ) -> dict[Ref, tuple[Range, ...]]:
        """What to keep of results that are too large, as runs: beginning, end, and what is near to what was talked about."""
        ranked: list[tuple[float, int, int]] = []
        found = {s for _, pieces in results for piece in pieces for s in piece.strings}
        for string in self.trail.spoken & found:
            self.worths[string] = SPOKEN * worth(self.trail.uses[string], self.now)
        for at, (_, pieces) in enumerate(results):
            worths = [0.0, *accumulate(self._scores(pieces, 0.0))]
            costs = [0.0, *accumulate(p.tokens for p in pieces)]
            n = len(pieces)
            for i in range(n):
                low, high = max(0, i - SPREAD), min(n, i + SPREAD + 1)
                edge = (
                    EDGE * (exp(-i / 8) + exp((i + 1 - n) / 8)) * (high - low)
                    if i < 60 or n - i < 60
                    else 0.0
                )
                density = (worths[high] - worths[low] + edge) / (
                    costs[high] - costs[low] + 0.5 * (high - low)
                )
                ranked.append((-density, at, i))
        ranked.sort()
        chosen: dict[int, list[int]] = {}
        for _, at, i in ranked:
            piece = results[at][1][i]
            if piece.tokens <= room:
                room -= piece.tokens
                chosen.setdefault(at, []).append(piece.number)
        return {results[at][0].revision: joined(sorted(numbers)) for at, numbers in chosen.items()}

    def _left(self, piece: Piece) -> float:
        """What a piece is still worth, now that some of its strings may be shown."""
        if not any(s in self.shown for s in piece.strings):
            return 1e9
        (line,) = self._scores((piece._replace(strings=()),), 0.0)
        return line + sum(self.worths[s] for s in piece.strings if s not in self.shown)

    def _scores(self, pieces: Iterable[Piece], age: float) -> list[float]:
        """The worth of pieces: the chance that a line is copied as it is, and that its strings are used."""
        trail, lines, worths, now = self.trail, self.lines, self.worths, self.now
        table = weights().line
        repeated, spoken_weight, past = table["repeated"], table["spoken"], table["age"] * age
        out: list[float] = []
        for piece in pieces:
            total = 0.0
            for string in piece.strings:
                value = worths.get(string)
                if value is None:
                    value = worths[string] = worth(trail.uses[string], now)
                total += value
            if piece.line and piece.line not in lines:
                score = piece.chance + past
                if trail.lines[piece.line] > 1:
                    score += repeated
                if piece.strings:
                    score += spoken_weight * log1p(len(trail.spoken.intersection(piece.strings)))
                total += LINES / (1 + exp(-score))
            out.append(total)
        return out

    def _pieces(self, sources: Sequence[Source]) -> list[_Item]:
        out: list[_Item] = []
        for source in sources:
            number = source.seen.number
            age = log1p(self.now - number)
            for at, (message, pieces) in enumerate(source.seen.pieces):
                mine: Sequence[Piece] = pieces
                if source.allowed is not None:
                    allowed = source.allowed.get(message.revision, ())
                    mine = [piece for piece in pieces if piece.number in allowed]
                factor = self.boost(message) if self.boost else 1.0
                for piece, value in zip(mine, self._scores(mine, age), strict=True):
                    if value > FAINT:
                        cost = piece.tokens + JOINT
                        place = (number, at, piece.number)
                        out.append(
                            _Item(-factor * value / cost, place, cost, value, message.revision, piece, "")
                        )
        return out

    def _strings(self, sources: Sequence[Source], carried: Sequence[str]) -> list[_Item]:
        uses, worths, now = self.trail.uses, self.worths, self.now
        strings = self.trail.spoken.union(*(source.seen.strings for source in sources))
        strings.update(note for note in carried if note in uses)
        strings -= self.shown
        out: list[_Item] = []
        for place, string in enumerate(sorted(strings)):
            value = worths.get(string)
            if value is None:
                value = worths[string] = worth(uses[string], now)
            if value > FAINT:
                cost = JOINT + rough(string)
                out.append(_Item(-value / cost, (-1, place), cost, value, None, None, string))
        return out


class _Taken:
    """What was taken so far, and the room that is left."""

    def __init__(self, room: float) -> None:
        self.room = room
        self.pieces: dict[Ref, list[int]] = {}
        self.notes: list[str] = []
        self._spelled = ""

    def piece(self, revision: Ref, number: int, cost: float) -> None:
        """Take a piece."""
        self.pieces.setdefault(revision, []).append(number)
        self.room -= cost

    def note(self, text: str, cost: float) -> None:
        """Take a string, unless a longer one has it inside."""
        if text not in self._spelled:
            self.notes.append(text)
            self._spelled += text + "\n"
            self.room -= cost
