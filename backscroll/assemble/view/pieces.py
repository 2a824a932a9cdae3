"""A message as numbered pieces, which can be kept line by line when the rest is condensed.

Owns one walk over all text in a message (texts, string arguments of calls, texts of results), always in the same order,
so that a range of numbers recorded at a compaction means the same pieces forever. Lines are pieces; a very long line (JSON
without breaks, a paragraph) is cut after commas and full stops. Joined together the pieces are the text, byte for byte.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias, cast

from backscroll.formats.sources.json_text import NotJson, dumps, words_parsed
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message
from backscroll.vocab.part import Json, Text, ToolCall, ToolResult
from backscroll.vocab.values.pattern import late

Kind: TypeAlias = Literal["words", "argument", "result"]
Range: TypeAlias = tuple[int, int]  # first piece, and the one after the last

LONG = 240  # characters from which a line is split into pieces
_CUT = late(r"(?s).{40,160}?(?:[,;}\]]\s*|[。；！？，]|[.!?]\s+)|.{1,200}")
SHORT_VALUE = 160  # characters up to which an argument is shown whole
GAP = "…"


class Slot(NamedTuple):
    """One text of a message: its source, and the number of its first piece."""

    kind: Kind
    part: int  # number of the part
    first: int
    pieces: tuple[str, ...]


def pieces_of(text: str) -> list[str]:
    """Split a text into pieces; joined they are the text."""
    lines = text.splitlines(keepends=True)
    if len(text) <= LONG or max(map(len, lines)) <= LONG:
        return lines
    out: list[str] = []
    for line in lines:
        if len(line) <= LONG:
            out.append(line)
        else:
            out.extend(_CUT.findall(line))
    return out


def arguments_of(call: ToolCall) -> Json:
    """Return the arguments as a value; text that is not JSON stays text."""
    if not isinstance(call.arguments, str):
        return call.arguments
    value = words_parsed(call.arguments)
    return call.arguments if isinstance(value, NotJson) else value


def strings_in(value: Json) -> Iterator[str]:
    """Yield every string of a JSON value, in order."""
    stack: list[Json] = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            stack.extend(reversed(list(cast("dict[str, Json]", item).values())))
        elif isinstance(item, list):
            stack.extend(reversed(cast("list[Json]", item)))


def slots_of(message: Message) -> tuple[Slot, ...]:
    """Return all texts of a message, split into numbered pieces."""
    out: list[Slot] = []
    number = 0

    def add(kind: Kind, part: int, text: str) -> None:
        nonlocal number
        cut = tuple(pieces_of(text))
        out.append(Slot(kind, part, number, cut))
        number += len(cut)

    for at, part in enumerate(message.parts):
        if isinstance(part, Text):
            add("words", at, part.text)
        elif isinstance(part, ToolCall):
            for text in strings_in(arguments_of(part)):
                add("argument", at, text)
        elif isinstance(part, ToolResult):
            for inner in part.content:
                if isinstance(inner, Text):
                    add("result", at, inner.text)
    return tuple(out)


def render_kept(slot: Slot, ranges: Sequence[Range]) -> str:
    """Return the kept ranges of a slot: runs of pieces verbatim, with a gap sign between them."""
    end = slot.first + len(slot.pieces)
    runs: list[str] = []
    for first, stop in ranges:
        low, high = max(first, slot.first), min(stop, end)
        if low < high:
            runs.append("".join(slot.pieces[low - slot.first : high - slot.first]).rstrip("\n"))
    return f"\n{GAP}\n".join(runs)


def merge_ranges(numbers: Sequence[int]) -> tuple[Range, ...]:
    """Return numbers in ascending order as ranges."""
    out: list[Range] = []
    for number in numbers:
        if out and out[-1][1] == number:
            out[-1] = (out[-1][0], number + 1)
        else:
            out.append((number, number + 1))
    return tuple(out)


def shorten_arguments(call: ToolCall, slots: Sequence[Slot], ranges: Sequence[Range]) -> Json:
    """Return a call's arguments with long strings cut to their kept pieces, in the original form."""
    texts = iter(slots)

    def short(value: Json) -> Json:
        if isinstance(value, str):
            slot = next(texts)
            if len(value) <= SHORT_VALUE:
                return value
            left = render_kept(slot, ranges)
            return left + "\n" + GAP if left else value[: SHORT_VALUE - 40].rstrip() + GAP
        if isinstance(value, dict):
            return {k: short(v) for k, v in cast("dict[str, Json]", value).items()}
        if isinstance(value, list):
            return [short(v) for v in cast("list[Json]", value)]
        return value

    before = arguments_of(call)
    after = short(before)
    if not isinstance(call.arguments, str):
        return after
    return dumps({"cut": after}) if isinstance(before, str) else dumps(after)


class Slots:
    """The slots of messages, cached by revision, as content never changes under a revision."""

    def __init__(self) -> None:
        self._known: dict[Ref, tuple[Slot, ...]] = {}

    def __call__(self, message: Message) -> tuple[Slot, ...]:
        known = self._known.get(message.revision)
        if known is None:
            known = self._known[message.revision] = slots_of(message)
        return known
