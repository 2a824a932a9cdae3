"""What a history is made of, unit by unit: sizes, pieces, the specific strings in them, and who used those when.

Owns the counting that choosing what to keep rests on; it is done once per unit and only ever added to. Refuses to judge:
`assemble/fade` and `assemble/notes` do. Before: `assemble/units`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from math import log
from typing import NamedTuple

from backscroll.assemble.fade_weights import Weights, weights
from backscroll.assemble.units import Unit
from backscroll.assemble.view_meter import Meter
from backscroll.assemble.view_pieces import Slot, Slots
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message

_LETTER = r"A-Za-z0-9_\u00c0-\u04ff./#@~:+-"
#: Words with something in them that plain words do not have: paths, addresses, names of code, numbers. The look-ahead passes
#: over plain words at once, which is most of any text.
_TOKEN = re.compile(rf"(?<![{_LETTER}])(?![A-Za-z]?[a-z]*+[.:]?(?![{_LETTER}]))[{_LETTER}]{{4,}}+")
_SPECIAL = re.compile(r"[_/\d]|\w\.\w|[a-z][A-Z]")
#: Names of people and places.
_NAME = re.compile(r"[A-Z][\w'-]++(?: [A-Z][\w'-]++)++")
#: What stands in quotation marks or title marks: messages, patterns, expressions, titles.
_QUOTED = re.compile(r"[\"`'](?<!\w.)[^\"`'\n]{4,90}+[\"`'](?!\w)")
_CHINESE = re.compile(r"《[^《》\n]{2,40}+》|「[^「」\n]{2,40}+」|“[^“”\n]{2,40}+”")
_SEVERAL = re.compile(r"\W")
SHORTEST, LONGEST = 4, 100  # characters of a string
LINE = 25  # characters from which a line is worth copying
GIANT = 400_000  # characters of a message beyond which nothing is looked for
#: What tools put before a line of a file or a diff; the line itself is what gets copied.
_NUMBERED = re.compile(r"\s*(?:\d+\s*[→:|\t]|[-+>](?=\s))\s?")
_DIGIT = re.compile(r"\d")
_NUMBER = re.compile(r"[\d.,:%$€¥+-]+")


class Piece(NamedTuple):
    """One piece of a message: its number, roughly what it costs, the line it is, its specific strings."""

    number: int
    tokens: float
    line: str  # without indentation and line numbers; empty where too short to be worth copying
    strings: tuple[str, ...]
    chance: float  # the part of the line's score that never changes


@dataclass(slots=True)
class Use:
    """Where a string was met. Units are counted from the beginning of the trail."""

    revision: Ref  # of the last message that has it
    last: int
    score: float  # the part of its score that never changes
    words: int = 0  # messages that say it in words
    arguments: int = 0  # replies that pass it to a tool
    told: int = 0  # results that have it
    known: float | None = None  # its score but for its age; None: it was met since


@dataclass(frozen=True, slots=True)
class Seen:
    """One unit of the trail."""

    unit: Unit
    number: int
    tokens: int  # verbatim
    pieces: tuple[tuple[Message, tuple[Piece, ...]], ...]
    strings: frozenset[str]
    lines: frozenset[str]


def _uses() -> dict[str, Use]:
    return {}


def _seen() -> list[Seen]:
    return []


def _by_id() -> dict[Ref, Seen]:
    return {}


def _spoken() -> set[str]:
    return set()


def _lines() -> dict[str, int]:
    return {}


@dataclass(slots=True)
class Trail:
    """The units so far, and every specific string with its uses."""

    meter: Meter
    slots: Slots
    seen: list[Seen] = field(default_factory=_seen)
    by_id: dict[Ref, Seen] = field(default_factory=_by_id)
    uses: dict[str, Use] = field(default_factory=_uses)
    spoken: set[str] = field(default_factory=_spoken)  # strings that the dialogue itself used
    lines: dict[str, int] = field(default_factory=_lines)  # how often a line was met
    tokens: int = 0

    def extend(self, units: Iterable[Unit]) -> Trail:
        """Look at more units."""
        table = weights()
        for unit in units:
            self._add(unit, table)
        return self

    def _add(self, unit: Unit, table: Weights) -> None:
        number = len(self.seen)
        both: set[str] = set()
        lines: set[str] = set()
        all_pieces: list[tuple[Message, tuple[Piece, ...]]] = []
        size = 0
        for message in unit.messages:
            tokens = self.meter.message(message)
            size += tokens
            slots = self.slots(message)
            pieces = _pieces(slots, tokens, table)
            all_pieces.append((message, pieces))
            at = 0
            for slot in slots:
                own = pieces[at : at + len(slot.pieces)]
                at += len(slot.pieces)
                strings = {s for piece in own for s in piece.strings}
                self._met(strings, slot, message.revision, number, table)
                both |= strings
            lines.update(piece.line for piece in pieces)
        lines.discard("")
        for line in lines:
            self.lines[line] = self.lines.get(line, 0) + 1
        seen = Seen(unit, number, size, tuple(all_pieces), frozenset(both), frozenset(lines))
        self.seen.append(seen)
        self.by_id[unit.id] = seen
        self.tokens += size

    def _met(self, strings: set[str], slot: Slot, revision: Ref, number: int, table: Weights) -> None:
        uses = self.uses
        if slot.kind != "result":
            self.spoken |= strings
        for string in strings:
            use = uses.get(string)
            if use is None:
                use = uses[string] = Use(revision, number, _look(string, table))
            use.revision, use.last, use.known = revision, number, None
            if slot.kind == "result":
                use.told += 1
            elif slot.kind == "argument":
                use.arguments += 1
            else:
                use.words += 1


def _look(string: str, table: Weights) -> float:
    """What a string looks like."""
    score = table.string["bias"]
    if _DIGIT.search(string):
        score += table.string["digit"]
        if _NUMBER.fullmatch(string):
            score += table.string["number"]
    if "." in string:
        score += table.string["dot"]
    if " " in string:
        score += table.string["phrase"]
    return score


def _pieces(slots: Sequence[Slot], tokens: int, table: Weights) -> tuple[Piece, ...]:
    length = sum(len(text) for slot in slots for text in slot.pieces)
    rate = tokens / length if length else 0.0
    line_weights = table.line
    out: list[Piece] = []
    for slot in slots:
        number = slot.first
        common = line_weights["bias"] + line_weights["text"] * log(len(slot.pieces) or 1)
        common += line_weights.get(slot.kind, 0.0)
        found = specific(slot.pieces) if length <= GIANT else {}
        for at, text in enumerate(slot.pieces):
            line = _plain(text)
            chance = common + line_weights["length"] * log(len(line) / 40) if line else 0.0
            out.append(Piece(number, rate * len(text), line, tuple(found.get(at, ())), chance))
            number += 1
    return tuple(out)


def specific(pieces: Sequence[str]) -> dict[int, dict[str, None]]:
    """The specific strings of a text, by the number of the piece in which they stand."""
    text = "".join(pieces)
    ends = list(accumulate(map(len, pieces)))
    out: dict[int, dict[str, None]] = {}
    for pattern in (_TOKEN, _NAME, _QUOTED, _CHINESE):
        at = 0
        for found in pattern.finditer(text):
            string = found[0]
            if pattern is _TOKEN:
                if not _SPECIAL.search(string):
                    continue
                string = string.rstrip(".:+-/").lstrip(":+-")
            elif pattern is not _NAME:
                string = string[1:-1]
                if pattern is _QUOTED and not _SEVERAL.search(string):
                    continue
            first, last = found.span()
            while ends[at] <= first:
                at += 1
            if SHORTEST <= len(string) <= LONGEST and last <= ends[at]:
                out.setdefault(at, {})[string] = None
    return out


def _plain(text: str) -> str:
    found = _NUMBERED.match(text)
    line = text[found.end() :].strip() if found else text.strip()
    return line if len(line) >= LINE else ""
