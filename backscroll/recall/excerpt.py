"""Excerpts: the pieces of a long text that answer, in their order, within so many tokens.

Owns cutting and choosing; a text that fits is left as it is. What is left out is marked, so that nobody takes an excerpt for the
whole. Before: `recall/choose`. Refuses to cut inside a line unless one line alone is too long.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from backscroll.recall.cut import terms_of
from backscroll.vocab.pattern import late

_GAP = "…"
_LONG_LINE = 400  # characters; a longer line is cut at its sentences, or hard
_LOOKED_AT = 200_000
_SENTENCE = late(r"(?<=[.!?;。！？；])\s+")


def _lines(text: str) -> list[str]:
    out: list[str] = []
    for line in text[:_LOOKED_AT].split("\n"):
        if len(line) <= _LONG_LINE:
            out.append(line)
            continue
        for sentence in _SENTENCE.split(line):
            out += [sentence[i : i + _LONG_LINE] for i in range(0, len(sentence), _LONG_LINE)]
    return [line for line in out if line.strip()]


def excerpt(
    text: str,
    terms: Collection[str],
    rarity: Callable[[str], float],
    count: Callable[[str], int],
    room: int,
) -> str:
    """The best lines of a text for these terms, each with the one before and after it as far as there is room.

    Without any of the terms in it, its beginning. Empty where not even a line fits.
    """
    if count(text) <= room:
        return text
    lines = _lines(text)
    scores = [sum(rarity(term) for term in set(terms_of(line)[0]) if term in terms) for line in lines]
    best = sorted(range(len(lines)), key=lambda i: (-scores[i], i))
    wanted = [i for i in best if scores[i] > 0] or list(range(len(lines)))
    costs = [count(line) + 2 for line in lines]
    taken: list[int] = []  # what matters most first
    left = room - 4
    for steps in (0, 1, 2):  # first what matches, then what stands beside it
        for middle in wanted[:40]:
            for i in (middle - steps, middle + steps):
                if 0 <= i < len(lines) and i not in taken and costs[i] <= left:
                    taken.append(i)
                    left -= costs[i]
    return _joined(lines, taken, count, room)


def _joined(lines: list[str], taken: list[int], count: Callable[[str], int], room: int) -> str:
    """The lines in their order, with marks between; marks cost too, so what matters least may have to go again."""
    while taken:
        order = sorted(taken)
        out: list[str] = [] if order[0] == 0 else [_GAP]
        for place, number in enumerate(order):
            if place and number != order[place - 1] + 1:
                out.append(_GAP)
            out.append(lines[number].rstrip())
        if order[-1] != len(lines) - 1:
            out.append(_GAP)
        text = "\n".join(out)
        if count(text) <= room:
            return text
        taken = taken[:-1]
    return ""
