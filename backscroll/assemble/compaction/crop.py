"""Cropping: which messages may leave the prompt, which amounts are possible, and how relevant the messages are to the task.

Never cropped: system messages, the latest user message, pinned messages, calls without a result. A reply and the results of its
calls go together or not at all, so only some amounts are possible; the others are refused with the nearest ones. A crop from the
bottom stops at the latest user message.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from backscroll.assemble.view.units import Unit
from backscroll.errors import InvalidInput
from backscroll.recall.text.terms import stopwords
from backscroll.recall.text.words import index_words
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message


class Direction(StrEnum):
    """The end from which messages are removed."""

    TOP = "top"
    BOTTOM = "bottom"


def checked_direction(value: str | Direction) -> Direction:
    """Return a valid direction, or raise a clear error."""
    for known in Direction:
        if value == known.value:
            return known
    raise InvalidInput(f"unknown direction: {value!r}", hint="use top or bottom")


def checked_amount(value: Any) -> int:
    """Return a whole number of messages, at least one."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidInput(f"invalid number of messages: {value!r}", hint="give a whole number of 1 or more")
    if value < 1:
        raise InvalidInput(f"cannot crop {value} messages", hint="give a whole number of 1 or more")
    return value


def may_go(unit: Unit, latest_user: Ref | None) -> bool:
    """Return False for messages that are never cropped."""
    kept = unit.role == "system" or unit.pinned or bool(unit.unanswered)
    return not kept and all(m.id != latest_user for m in unit.messages)


@dataclass(frozen=True, slots=True)
class CropSelection:
    """The units that a crop removes, in order of the history."""

    units: tuple[Unit, ...]

    @property
    def messages(self) -> tuple[Message, ...]:
        """Their messages."""
        return tuple(m for unit in self.units for m in unit.messages)


def cut_amount(
    units: Iterable[Unit], direction: Direction, amount: int, latest_user: Ref | None
) -> CropSelection:
    """Crop so many messages. `units` are in the order of removal: from the end for a crop from the bottom."""
    taken: list[Unit] = []
    count = 0
    for unit in units:
        if direction is Direction.BOTTOM and any(m.id == latest_user for m in unit.messages):
            break
        if not may_go(unit, latest_user):
            continue
        after = count + len(unit.messages)
        if after > amount:
            raise _between(amount, count, after)
        taken.append(unit)
        count = after
        if count == amount:
            return CropSelection(tuple(reversed(taken)) if direction is Direction.BOTTOM else tuple(taken))
    if not count:
        raise InvalidInput(
            "nothing may be cropped here",
            hint="system messages, the latest user message, pinned messages and unanswered calls always stay",
        )
    raise InvalidInput(f"cannot crop {amount} messages: {count} may go", hint=f"crop {count} or fewer")


def _between(amount: int, below: int, above: int) -> InvalidInput:
    near = f"{below} or {above}" if below else str(above)
    return InvalidInput(
        f"cropping {amount} messages would part a tool call from its result",
        hint=f"the nearest possible amounts: {near}",
    )


def cut_range(units: Sequence[Unit], first: Ref, last: Ref, latest_user: Ref | None) -> CropSelection:
    """Crop everything croppable from one message to another; both must be at the edge of a unit."""
    opens = [i for i, unit in enumerate(units) if unit.id == first]
    closes = [i for i, unit in enumerate(units) if unit.last == last]
    if not opens or not closes:
        inside = next((u for u in units if any(m.id in (first, last) for m in u.messages)), None)
        hint = (
            "give the messages as `backscroll show` lists them"
            if inside is None
            else f"this call and its results go together: {inside.id.short} to {inside.last.short}"
        )
        raise InvalidInput("the range would part a tool call from its result", hint=hint)
    if closes[0] < opens[0]:
        raise InvalidInput("the range ends before it begins", hint="give the earlier message first")
    taken = tuple(u for u in units[opens[0] : closes[0] + 1] if may_go(u, latest_user))
    if not taken:
        raise InvalidInput(
            "nothing may be cropped here",
            hint="system messages, the latest user message, pinned messages and unanswered calls always stay",
        )
    return CropSelection(taken)


def runs(all_seqs: Sequence[int], gone: Iterable[int]) -> list[list[int]]:
    """Return sequence numbers as runs without other messages in between; `all_seqs` are the surrounding messages, in any order."""
    wanted = set(gone)
    out: list[list[int]] = []
    for seq in sorted(all_seqs):
        if seq not in wanted:
            out.append([])
        elif out and out[-1]:
            out[-1][1] = seq
        else:
            out.append([seq, seq])
    return [run for run in out if run]


def within(seq: int, crop_runs: Sequence[Sequence[int]]) -> bool:
    """Return True if a message number is in one of the runs."""
    return any(first <= seq <= last for first, last in crop_runs)


def relevance(task: str, texts: Sequence[str]) -> float:
    """Return the relevance of old messages to the current task: the share of its distinctive words that they contain, 0 to 1.

    Common words count nothing, names and numbers count more. No model is used.
    """
    common = stopwords()
    wanted = {word for word in index_words(task).split() if word not in common}
    if not wanted or not texts:
        return 0.0
    held: set[str] = set()
    for text in texts:
        held.update(index_words(text).split())
    total = sum(_weight(word) for word in wanted)
    return sum(_weight(word) for word in wanted & held) / total


def _weight(word: str) -> float:
    """Return the weight of a word: more for names and numbers (with digits or marks), little for single letters."""
    if len(word) < 2:
        return 0.25
    return 1.5 if any(c.isdigit() or c in "_./" for c in word) else 1.0
