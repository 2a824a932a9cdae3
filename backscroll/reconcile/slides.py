"""Choose which of several equal messages is the missing or new one, by sliding gaps.

If `A ok` is missing from `ok A ok B`, it is ambiguous which `ok` went: the gap may be one place further up. Alignment picks
any place; this module slides the gap to the most plausible one. A gap of ours that can reach the top goes there (trimmed, not
deleted), a gap of theirs that can reach the end goes there (appended), and otherwise a gap begins with a user message,
because users delete and add whole turns. Never slides past a match that rests on more than text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from backscroll.reconcile.alignment import Pair
from backscroll.reconcile.matching import Matching, Sides
from backscroll.reconcile.operations import Ambiguity, Note
from backscroll.vocab.ids import Ref

FURTHEST = 4096  # how far one gap is tried
FREE = -1
FIXED = -2  # matched, but not to a neighbour in the chain: no gap slides past it
MENTIONED = 64  # number of messages that a note names
STEPS = 500_000  # total number of places tried; after that, gaps stay


@dataclass(frozen=True, slots=True)
class _Slide:
    """Items `first` … `last` of one side are free; the gap can go `up` or `down` by so many places."""

    first: int
    last: int
    up: int
    down: int


def _blocks(match: Sequence[int], other: int) -> Iterator[Pair]:
    """Yield stretches that are free on one side while nothing is free on the other."""
    start = -1
    for k in range(len(match) + 1):
        free = k < len(match) and match[k] == FREE
        if free and start < 0:
            start = k
        elif not free and start >= 0:
            before = match[start - 1] if start else -1
            after = match[k] if k < len(match) else other
            if after == before + 1:
                yield start, k - 1
            start = -1


def _slides(
    match: Sequence[int], tokens: Sequence[int], loose: Callable[[int], bool], other: int
) -> Iterator[_Slide]:
    budget = STEPS
    for first, last in _blocks(match, other):
        size = last - first + 1
        up = 0
        while up < FURTHEST and up < first:
            k = first - up - 1
            joined = not up or match[k] + 1 == match[k + 1]
            if match[k] < 0 or not joined or not loose(k) or tokens[k] != tokens[k + size]:
                break
            up += 1
        down = 0
        while down < FURTHEST and last + down + 1 < len(match):
            k = last + down + 1
            joined = not down or match[k - 1] + 1 == match[k]
            if match[k] < 0 or not joined or not loose(k) or tokens[k] != tokens[k - size]:
                break
            down += 1
        if up or down:
            yield _Slide(first, last, up, down)
        budget -= up + down
        if budget < 0:
            return


def _pair_shifted(slide: _Slide, by: int) -> list[Pair]:
    """Return the shifted pairs: (from, to)."""
    size = slide.last - slide.first + 1
    if by < 0:
        return [(slide.first - k, slide.first - k + size) for k in range(1, -by + 1)]
    return [(slide.last + k, slide.last + k - size) for k in range(1, by + 1)]


def _to_a_turn(slide: _Slide, roles: Sequence[str]) -> int:
    """Return the shortest slide after which the gap begins with a user message; 0 if it already does, or never would."""
    for far in range(max(slide.up, slide.down) + 1):
        if far <= slide.up and roles[slide.first - far] == "user":
            return -far
        if far <= slide.down and roles[slide.first + far] == "user":
            return far
    return 0


def settle(sides: Sides, matching: Matching, pool: Callable[[int], bool], *, complete: bool) -> list[Note]:
    """Slide every gap to the most plausible place, and note ambiguous ones."""
    live = [o for o in range(len(sides.ours)) if pool(o)]
    rank = {o: k for k, o in enumerate(live)}
    return [
        *_settle_missing(sides, matching, live, complete=complete),
        *_settle_added(sides, matching, live, rank),
    ]


def _settle_missing(sides: Sides, matching: Matching, live: list[int], *, complete: bool) -> list[Note]:
    match = [FIXED if matching.theirs_of[o] in matching.moved else matching.theirs_of[o] for o in live]
    roles = [sides.ours[o].role for o in live]
    tokens = [sides.our_tokens[o] for o in live]
    lead = next((k for k, role in enumerate(roles) if role != "system"), len(roles))
    notes: list[Note] = []
    fresh: list[Pair] = []
    settled = -1
    for slide in list(_slides(match, tokens, lambda k: match[k] not in matching.firm, len(sides.blocks))):
        if slide.first <= lead and not complete:
            continue  # at the top already: trimmed
        to_top = slide.first - slide.up <= lead and not complete
        by = lead - slide.first if to_top else _to_a_turn(slide, roles)
        if sides.mode == "prompt" and not to_top and slide.last + slide.down == len(match) - 1:
            by = slide.down  # a prompt that ends early asks for another reply
        if slide.first + min(by, 0) <= settled:
            by = 0  # blocked by the gap before it
        if not to_top:
            span = live[slide.first - slide.up : slide.last + slide.down + 1][:MENTIONED]
            ids = tuple(sides.ours[o].id for o in span)
            notes.append(_which(slide, "deleted", ids, ()))
        fresh.extend((live[target], match[source]) for source, target in _pair_shifted(slide, by))
        settled = slide.last + max(by, 0)
    matching.rematch(fresh)
    return notes


def _settle_added(sides: Sides, matching: Matching, live: list[int], rank: dict[int, int]) -> list[Note]:
    match = [FREE if o < 0 else rank.get(o, FIXED) for o in matching.ours_of]
    for t in (*matching.moved, *matching.withheld):
        match[t] = FIXED
    roles = [block.message.role for block in sides.blocks]
    notes: list[Note] = []
    fresh: list[Pair] = []
    settled = -1
    for slide in list(_slides(match, sides.their_tokens, lambda k: k not in matching.firm, len(live))):
        if slide.last == len(match) - 1:
            continue  # at the end already: appended
        to_end = slide.last + slide.down == len(match) - 1
        by = slide.down if to_end else _to_a_turn(slide, roles)
        if slide.first + min(by, 0) <= settled:
            by = 0
        if not to_end:
            span = range(slide.first - slide.up, slide.last + slide.down + 1)[:MENTIONED]
            notes.append(_which(slide, "added", (), tuple(sides.blocks[t].theirs for t in span)))
        fresh.extend((live[match[source]], target) for source, target in _pair_shifted(slide, by))
        settled = slide.last + max(by, 0)
    matching.rematch(fresh)
    return notes


def _which(slide: _Slide, done: str, ours: tuple[Ref, ...], theirs: tuple[int, ...]) -> Ambiguity:
    size = slide.last - slide.first + 1
    considered = (f"any {size} neighbours of these",)
    return Ambiguity("which-of-equals", considered, f"{done}: the ones that make a turn", ours, theirs)
