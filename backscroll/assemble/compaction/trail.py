"""The trail of a history, unit by unit: sizes, pieces, specific strings, and their uses.

Owns the statistics on which retention rests; they are computed once per unit and only ever extended. Does not judge:
`assemble/compaction/retention` and `assemble/compaction/notes` do.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from backscroll.assemble.compaction.tuning import (
    COPIED_FROM,
    LEAST_RATE,
    LONGEST,
    SCANNED,
    SHORTEST,
    Weights,
    weights,
)
from backscroll.assemble.view.compaction import IndexedString
from backscroll.assemble.view.meter import Meter
from backscroll.assemble.view.pieces import Kind, Range, Slot, Slots
from backscroll.assemble.view.units import Unit
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message
from backscroll.vocab.values.pattern import late

_LETTER = r"A-Za-z0-9_\u00c0-\u04ff./#@~:+-"
#: Words with something in them that plain words do not have: paths, addresses, names of code, numbers. The look-ahead passes
#: over plain words at once, which are most of any text.
_TOKEN = late(rf"(?<![{_LETTER}])(?![A-Za-z]?[a-z]*+[.:]?(?![{_LETTER}]))[{_LETTER}]{{4,}}+")
_SPECIAL = late(r"[_/\d]|\w\.\w|[a-z][A-Z]")
#: Names of people and places. Words are bounded: otherwise a run of capitals would be scanned from each of them.
_NAME = late(r"[A-Z][\w'-]{1,100}+(?: [A-Z][\w'-]{1,100}+)++")
#: Text in quotation marks or title marks: messages, patterns, expressions, titles.
_QUOTED = late(r"[\"`'](?<!\w.)[^\"`'\n]{4,90}+[\"`'](?!\w)")
_CHINESE = late(r"《[^《》\n]{2,40}+》|「[^「」\n]{2,40}+」|“[^“”\n]{2,40}+”")
_SEVERAL = late(r"\W")
#: Separators in paths and dotted names.
_SEAM = late(r"[/.:#@]+")
_HUMP = late(r"[a-z][A-Z]")
#: What tools put before a line of a file or a diff; only the line itself is copied.
_NUMBERED = late(r"\s*(?:\d+\s*[→:|\t]|[-+>](?=\s))\s?")
_DIGIT = late(r"\d")
_NUMBER = late(r"[\d.,:%$€¥+-]+")


class TrailMessage(NamedTuple):
    """One message: its slots, its pieces as lines by their numbers, and its tokens per character."""

    message: Message
    slots: tuple[Slot, ...]
    lines: tuple[str, ...]  # without indentation and line numbers; empty if too short to be worth copying
    rate: float

    def pieces(self, ranges: Iterable[Range]) -> str:
        """Return the pieces in these ranges, one after the other."""
        every = [piece for slot in self.slots for piece in slot.pieces]
        return "\n".join(piece for first, stop in ranges for piece in every[first:stop])


@dataclass(slots=True)
class StringUse:
    """The uses of a string. Units are counted from the beginning of the trail."""

    revision: Ref  # of the last message that contains it
    last: int
    score: float  # the part of its score that never changes
    words: int = 0  # messages that say it in words
    arguments: int = 0  # replies that pass it to a tool
    told: int = 0  # results that have it
    crowd: int = 0  # strings of the text with the fewest that contains it
    known: float | None = None  # its score without its age; None: it was used since


@dataclass(frozen=True, slots=True)
class TrailUnit:
    """One unit of the trail."""

    unit: Unit
    number: int
    tokens: int  # shown verbatim
    leaves: tuple[TrailMessage, ...]
    strings: frozenset[str]
    lines: frozenset[str]
    used: Mapping[Kind, Collection[str]]  # the same strings by their positions


def _uses() -> dict[str, StringUse]:
    return {}


def _make_seen() -> list[TrailUnit]:
    return []


def _by_id() -> dict[Ref, TrailUnit]:
    return {}


def _make_spoken() -> set[str]:
    return set()


def _cut() -> dict[tuple[Ref, ...], tuple[TrailMessage, ...]]:
    return {}


def _remains() -> dict[tuple[Ref, tuple[Range, ...]], tuple[frozenset[str], frozenset[str]]]:
    return {}


def _lines() -> dict[str, int]:
    return {}


@dataclass(slots=True)
class Trail:
    """The units so far, and every specific string with its uses."""

    meter: Meter
    slots: Slots
    seen: list[TrailUnit] = field(default_factory=_make_seen)
    by_id: dict[Ref, TrailUnit] = field(default_factory=_by_id)
    uses: dict[str, StringUse] = field(default_factory=_uses)
    spoken: set[str] = field(default_factory=_make_spoken)  # strings that the dialogue itself used
    lines: dict[str, int] = field(default_factory=_lines)  # how often a line occurred
    cut: dict[tuple[Ref, ...], tuple[TrailMessage, ...]] = field(default_factory=_cut)
    remains: dict[tuple[Ref, tuple[Range, ...]], tuple[frozenset[str], frozenset[str]]] = field(
        default_factory=_remains
    )
    earlier: Sequence[IndexedString] = ()  # what was read before all units
    tokens: int = 0

    def begin(self, indexed: Sequence[IndexedString]) -> Trail:
        """Start with what is known of units that are no longer read."""
        table = weights()
        self.earlier = indexed
        for m in indexed:
            score = _look(m.text, table)
            self.uses[m.text] = StringUse(m.source, -m.age, score, m.words, m.arguments, m.told, m.crowd)
            if m.words or m.arguments:
                self.spoken.add(m.text)
        return self

    def extend(self, units: Iterable[Unit]) -> Trail:
        """Add more units."""
        table = weights()
        for unit in units:
            self._add(unit, table)
        return self

    def _add(self, unit: Unit, table: Weights) -> None:
        number = len(self.seen)
        used: dict[Kind, set[str]] = {}
        lines: set[str] = set()
        leaves = self.leaves(unit)
        for leaf in leaves:
            for slot in leaf.slots:
                text = "".join(slot.pieces)
                strings = strings_in_text(text) if len(text) <= SCANNED else set[str]()
                self._record_uses(strings, slot, leaf.message.revision, number, table)
                used.setdefault(slot.kind, set()).update(strings)
            lines.update(leaf.lines)
        lines.discard("")
        for line in lines:
            self.lines[line] = self.lines.get(line, 0) + 1
        size = sum(self.meter.message(m) for m in unit.messages)
        strings = frozenset[str]().union(*used.values())
        seen = TrailUnit(unit, number, size, leaves, strings, frozenset(lines), used)
        self.seen.append(seen)
        self.by_id[unit.id] = seen
        self.tokens += size

    def leaves(self, unit: Unit) -> tuple[TrailMessage, ...]:
        """Return the messages of a unit, cut into lines; it need not be on the trail yet."""
        known = self.cut.get(unit.revisions)
        if known is None:
            known = self.cut[unit.revisions] = tuple(self._leaf(message) for message in unit.messages)
        return known

    def _leaf(self, message: Message) -> TrailMessage:
        slots = self.slots(message)
        lines = tuple([_plain(piece) for slot in slots for piece in slot.pieces])
        length = sum([len(piece) for slot in slots for piece in slot.pieces])
        rate = max(self.meter.message(message) / length, LEAST_RATE) if length else 0.0
        return TrailMessage(message, slots, lines, rate)

    def find_remaining(
        self, leaf: TrailMessage, ranges: tuple[Range, ...]
    ) -> tuple[frozenset[str], frozenset[str]]:
        """Return strings and lines of the pieces that these ranges keep."""
        key = (leaf.message.revision, ranges)
        known = self.remains.get(key)
        if known is None:
            lines = frozenset(line for first, stop in ranges for line in leaf.lines[first:stop])
            known = self.remains[key] = (frozenset(strings_in_text(leaf.pieces(ranges))), lines)
        return known

    def _record_uses(self, strings: set[str], slot: Slot, revision: Ref, number: int, table: Weights) -> None:
        uses, crowd = self.uses, len(strings)
        if slot.kind != "result":
            self.spoken |= strings
        for string in strings:
            use = uses.get(string)
            if use is None:
                use = uses[string] = StringUse(revision, number, _look(string, table))
            use.revision, use.last, use.known = revision, number, None
            use.crowd = min(use.crowd or crowd, crowd)
            if slot.kind == "result":
                use.told += 1
            elif slot.kind == "argument":
                use.arguments += 1
            else:
                use.words += 1


def _look(string: str, table: Weights) -> float:
    """Return the shape of a string."""
    score = table.string["bias"]
    if _DIGIT.search(string):
        score += table.string["digit"]
        if _NUMBER.fullmatch(string):
            score += table.string["number"]
    if "." in string:
        score += table.string["dot"]
    if " " in string:
        score += table.string["phrase"]
    if "/" in string:
        score += table.string["path"]
    if _HUMP.search(string):
        score += table.string["hump"]
    return score


def strings_in_text(text: str) -> set[str]:
    """Return the specific strings of a text."""
    search = _SPECIAL.search
    found = {token.rstrip(".:+-/").lstrip(":+-") for token in _TOKEN.findall(text) if search(token)}
    found.update(_NAME.findall(text))
    for pattern in (_QUOTED, _CHINESE):
        for string in pattern.findall(text):
            if pattern is _CHINESE or _SEVERAL.search(string, 1, len(string) - 1):
                found.add(string[1:-1])
    return {string for string in found if SHORTEST <= len(string) <= LONGEST}


def parts_of_strings(strings: Iterable[str]) -> set[str]:
    """Return the short forms of compound strings: of a path its ends, of a dotted name each of its parts."""
    out: set[str] = set()
    for string in strings:
        if " " in string:
            continue
        for seam in _SEAM.finditer(string):
            out.add(string[seam.end() :])
            out.add(string[: seam.start()])
        out.update(_SEAM.split(string))
    return out


def tokens_in_text(text: str) -> Iterator[tuple[str, int]]:
    """Yield paths, names of code, numbers and the like, each with its position."""
    search = _SPECIAL.search
    for found in _TOKEN.finditer(text):
        token = found[0]
        if search(token):
            yield token.rstrip(".:+-/").lstrip(":+-"), found.start()


def _plain(text: str) -> str:
    found = _NUMBERED.match(text)
    line = text[found.end() :].strip() if found else text.strip()
    return line if len(line) >= COPIED_FROM else ""
