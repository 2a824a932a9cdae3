"""A compaction: the levels at which prompts show the past, decided once and recorded.

Owns the data type and its JSON (the sealed body of a log event). Levels, kept pieces and cuts contain no text; notes and the index do,
and each names its source revision. Scores that depend on age are frozen here: between two compactions nothing is
decided again, so the prompt only grows at its end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, cast, get_args

from backscroll.assemble.view.pieces import Range
from backscroll.errors import InvalidInput
from backscroll.vocab.ids import Ref, parse_ref
from backscroll.vocab.part import Json
from backscroll.vocab.prompt import Level

Reason: TypeAlias = Literal["must", "pays", "free", "asked"]
REASONS: tuple[Reason, ...] = get_args(Reason)
SHAPE = 1  # of the JSON


def _levels() -> Mapping[Ref, Level]:
    return {}


def _keeps() -> Mapping[Ref, tuple[Range, ...]]:
    return {}


@dataclass(frozen=True, slots=True)
class CompactionNote:
    """A specific string that is carried on (a path, an id, a number), and its source revision."""

    text: str
    source: Ref  # revision
    before: Ref  # the unit before which it stands


@dataclass(frozen=True, slots=True)
class IndexedString:
    """A specific string of units that left the window, with its uses: later notes can still choose it.

    Prompts do not show it. `age` counts units back from the beginning of the window, 1 for the last one before it.
    """

    text: str
    source: Ref  # revision that contains it
    age: int
    words: int = 0  # units that mention it in text
    arguments: int = 0  # units that pass it to a tool
    told: int = 0  # units whose results contain it
    crowd: int = 0  # strings of the text with the fewest that contains it


@dataclass(frozen=True, slots=True)
class Compaction:
    """How prompts show the past from here on."""

    upto: Ref | None = None  # newest message it covers; newer ones are verbatim
    start: Ref | None = None  # first unit shown by itself; None: the first of all
    levels: Mapping[Ref, Level] = field(default_factory=_levels)  # by unit id; verbatim ones are left out
    keeps: Mapping[Ref, tuple[Range, ...]] = field(
        default_factory=_keeps
    )  # by revision: pieces that stay, verbatim
    notes: tuple[CompactionNote, ...] = ()
    cuts: tuple[Ref, ...] = ()  # units before which an earlier compaction ended: blocks are not joined across
    reason: Reason = "asked"
    before: int = 0  # tokens of the view before and after it
    after: int = 0
    fresh: int = (
        0  # of these, tokens that the model had not seen yet: shown whole, and condensed first next time
    )
    indexed: tuple[IndexedString, ...] = ()  # the index of strings before the window

    @property
    def kept(self) -> int:
        """Tokens left of what the model had seen."""
        return max(self.after - self.fresh, 0)

    def to_json(self) -> dict[str, Json]:
        """Return the body of the event."""
        refs = _RefNames()
        return {
            "shape": SHAPE,
            "upto": refs.maybe(self.upto),
            "start": refs.maybe(self.start),
            "levels": [[refs.name(unit), int(level)] for unit, level in self.levels.items()],
            "keeps": [[refs.name(r), [list(pair) for pair in ranges]] for r, ranges in self.keeps.items()],
            "notes": [[n.text, refs.name(n.source), refs.name(n.before)] for n in self.notes],
            "cuts": [refs.name(cut) for cut in self.cuts],
            "reason": self.reason,
            "before": self.before,
            "after": self.after,
            "fresh": self.fresh,
            "indexed": [
                [m.text, refs.name(m.source), m.age, m.words, m.arguments, m.told, m.crowd]
                for m in self.indexed
            ],
            "threads": refs.threads,
        }

    @staticmethod
    def from_json(data: Json) -> Compaction:
        """Read the compaction that `to_json` wrote; damage raises an error, never a guess."""
        try:
            return _read(cast("Mapping[str, Json]", data))
        except (AttributeError, IndexError, KeyError, TypeError, ValueError, InvalidInput) as error:
            raise InvalidInput(
                f"a compaction that cannot be read: {error!r}",
                hint="undo it, or compact again; no message is touched by either",
            ) from error


class _RefNames:
    """References in short form: nearly all are in one thread, which is named once."""

    def __init__(self) -> None:
        self.threads: list[str] = []
        self._numbers: dict[str, int] = {}

    def name(self, ref: Ref) -> Json:
        """Return `17` for a reference in the first thread, `[1, 17]` for one in another."""
        number = self._numbers.get(ref.thread)
        if number is None:
            number = self._numbers[ref.thread] = len(self.threads)
            self.threads.append(ref.thread)
        return ref.seq if number == 0 else [number, ref.seq]

    def maybe(self, ref: Ref | None) -> Json:
        """Return the name, or None."""
        return None if ref is None else self.name(ref)


def _read(data: Mapping[str, Json]) -> Compaction:
    if data["shape"] != SHAPE:
        raise ValueError(f"shape {data['shape']!r}")
    threads = [str(t) for t in cast("Sequence[Json]", data["threads"])]

    def ref(name: Json) -> Ref:
        number, seq = (0, name) if isinstance(name, int) else name
        return parse_ref(f"{threads[number]}.{seq}")

    def maybe(name: Json) -> Ref | None:
        return None if name is None else ref(name)

    return Compaction(
        upto=maybe(data["upto"]),
        start=maybe(data["start"]),
        levels={ref(unit): Level(level) for unit, level in data["levels"]},
        keeps={ref(r): tuple(_range(pair) for pair in pairs) for r, pairs in data["keeps"]},
        notes=tuple(
            CompactionNote(_text(t), ref(source), ref(before)) for t, source, before in data["notes"]
        ),
        cuts=tuple(ref(cut) for cut in data["cuts"]),
        reason=_reason(data["reason"]),
        before=int(data["before"]),
        after=int(data["after"]),
        fresh=int(data.get("fresh") or 0),  # absent before 0.2
        indexed=tuple(
            _parse_indexed_string(row, ref) for row in data.get("indexed") or ()
        ),  # also absent before 0.2
    )


def _parse_indexed_string(row: Sequence[Json], ref: Callable[[Json], Ref]) -> IndexedString:
    text, source, *numbers = row
    age, words, arguments, told, crowd = (_count(n) for n in numbers)
    return IndexedString(_text(text), ref(source), age, words, arguments, told, crowd)


def _count(value: Json) -> int:
    if not isinstance(value, int) or value < 0:
        raise ValueError(f"count {value!r}")
    return value


def _reason(value: Json) -> Reason:
    for known in REASONS:
        if value == known:
            return known
    raise ValueError(f"reason {value!r}")


def _range(pair: Json) -> Range:
    first, stop = pair
    if not (isinstance(first, int) and isinstance(stop, int) and 0 <= first < stop):
        raise ValueError(f"range {pair!r}")
    return first, stop


def _text(value: Json) -> str:
    if not isinstance(value, str):
        raise TypeError(f"note {value!r}")
    return value
