"""What a history is made of, unit by unit: sizes, pieces, the specific strings in them, and who used those when.

Owns the counting that choosing what to keep rests on; it is done once per unit and only ever added to. Refuses to judge:
`assemble/fade` and `assemble/notes` do. Before: `assemble/units`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from backscroll.assemble.units import Unit
from backscroll.assemble.view_meter import Meter
from backscroll.assemble.view_pieces import Kind, slots_of
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message

#: Strings that mean one thing and cannot be guessed: paths, addresses, names of code, numbers, names of people and places,
#: what stands in quotation marks or title marks.
SPECIFIC = re.compile(
    r"[\w./#@~:+-]*(?:[_/\d]|\w\.\w|[a-z][A-Z])[\w./@:-]*\w"
    r"|[A-Z][\w'-]+(?: [A-Z][\w'-]+)+"
    r"|(?<=《)[^《》\n]{2,40}(?=》)|(?<=「)[^「」\n]{2,40}(?=」)|(?<=“)[^“”\n]{2,40}(?=”)"
)
SHORTEST, LONGEST = 4, 100  # characters
GIANT = 400_000  # characters of a text beyond which nothing is looked for


class Piece(NamedTuple):
    """One piece of a message: its number, roughly what it costs, its words without indentation, its specific strings."""

    number: int
    tokens: float
    text: str
    strings: tuple[str, ...]
    kind: Kind


@dataclass(slots=True)
class Use:
    """Where a string was met. Units are counted from the beginning of the trail."""

    revision: Ref  # of the last message that has it
    first: int
    last: int
    spoken: int = 0  # messages of the dialogue that use it: words and arguments
    told: int = 0  # results that have it
    asked: bool = False  # a user said it
    last_spoken: int = -1


@dataclass(frozen=True, slots=True)
class Seen:
    """One unit of the trail."""

    unit: Unit
    tokens: int  # verbatim
    begins: int  # tokens of the trail before it
    pieces: tuple[tuple[Message, tuple[Piece, ...]], ...]
    strings: frozenset[str]


def _uses() -> dict[str, Use]:
    return {}


def _seen() -> list[Seen]:
    return []


def _lines() -> dict[str, int]:
    return {}


@dataclass(slots=True)
class Trail:
    """The units so far, and every specific string with its uses."""

    meter: Meter
    seen: list[Seen] = field(default_factory=_seen)
    uses: dict[str, Use] = field(default_factory=_uses)
    lines: dict[str, int] = field(default_factory=_lines)  # how often a line was met
    tokens: int = 0

    def extend(self, units: Iterable[Unit]) -> Trail:
        """Look at more units."""
        for unit in units:
            self._add(unit)
        return self

    def _add(self, unit: Unit) -> None:
        number = len(self.seen)
        both: set[str] = set()
        all_pieces: list[tuple[Message, tuple[Piece, ...]]] = []
        size = 0
        for message in unit.messages:
            tokens = self.meter.message(message)
            size += tokens
            pieces = self._pieces(message, tokens)
            all_pieces.append((message, pieces))
            both.update(self._noted(message, pieces, number))
        self.seen.append(Seen(unit, size, self.tokens, tuple(all_pieces), frozenset(both)))
        self.tokens += size

    def _noted(self, message: Message, pieces: Sequence[Piece], number: int) -> set[str]:
        told: set[str] = set()
        spoken: set[str] = set()
        for piece in pieces:
            (told if piece.kind == "result" else spoken).update(piece.strings)
            if len(piece.text) >= 25:
                self.lines[piece.text] = self.lines.get(piece.text, 0) + 1
        for strings, is_spoken in ((told, False), (spoken, True)):
            for string in strings:
                use = self.uses.get(string)
                if use is None:
                    use = self.uses[string] = Use(message.revision, number, number)
                use.revision, use.last = message.revision, number
                if is_spoken:
                    use.spoken += 1
                    use.last_spoken = number
                    use.asked = use.asked or message.role == "user"
                else:
                    use.told += 1
        return told | spoken

    @staticmethod
    def _pieces(message: Message, tokens: int) -> tuple[Piece, ...]:
        slots = slots_of(message)
        length = sum(len(text) for slot in slots for text in slot.pieces)
        rate = tokens / length if length else 0.0
        look = length <= GIANT
        out: list[Piece] = []
        for slot in slots:
            number = slot.first
            for text in slot.pieces:
                found = (
                    tuple(s for s in SPECIFIC.findall(text) if SHORTEST <= len(s) <= LONGEST) if look else ()
                )
                out.append(Piece(number, rate * len(text), text.strip(), found, slot.kind))
                number += 1
        return tuple(out)
