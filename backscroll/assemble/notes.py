"""Notes: specific strings that are carried on when the text around them fades.

Owns the worth of a string (who used it, how often, how lately, what it looks like) and the choice under a budget. A note names
the revision it was read in. Before: `assemble/fade_trail`. After: `assemble/compaction` writes notes down.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from math import log1p

from backscroll.assemble.compaction import Note
from backscroll.assemble.fade_trail import Trail, Use
from backscroll.derive.recipe import Count
from backscroll.vocab.ids import Ref

HALF_LIFE = 40.0  # units


def worth(use: Use, now: int) -> float:
    """How likely a string is to be used again, on a scale of its own."""
    age = 0.5 ** ((now - use.last) / HALF_LIFE)
    if not use.spoken:
        return 0.2 * age / (1 + 0.2 * use.told)
    return age * (1.0 + log1p(use.spoken) + (0.5 if use.asked else 0.0))


def choose_notes(
    candidates: Iterable[tuple[str, float]],
    shown: Collection[str],
    room: int,
    count: Count,
    source: Callable[[str], Ref],
    before: Ref,
) -> tuple[Note, ...]:
    """The most worthy strings that are not shown already, in the order of their worth, as many as fit."""
    out: list[Note] = []
    text = ""
    for string, _ in sorted(candidates, key=lambda pair: (-pair[1], pair[0])):
        if string in shown or string in text:
            continue
        tokens = count(string) + 1
        if tokens > room:
            if room < 4:
                break
            continue
        room -= tokens
        text += string + "; "
        out.append(Note(string, source(string), before))
    return tuple(out)


def values(trail: Trail, now: int) -> Mapping[str, float]:
    """The worth of every string of the trail."""
    return {string: worth(use, now) for string, use in trail.uses.items()}
