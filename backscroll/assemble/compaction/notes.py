"""Notes: specific strings that are carried on when the surrounding text is condensed, and the index they are chosen from.

Owns the score of a string: who used it, how often, how recently, what it looks like. A note names the revision of its source.
Most of what a conversation returns to after a long time was never spoken: a path, a symbol or an amount in one tool result.
So what is known of strings whose units leave the window (where they were read, who used them, how lately) is written into the
compaction that passes over them, up to a limit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, log1p

from backscroll.assemble.compaction.trail import StringUse, Trail
from backscroll.assemble.compaction.tuning import FAINT, INDEXED, weights
from backscroll.assemble.view.compaction import IndexedString
from backscroll.assemble.view.meter import rough


def worth(use: StringUse, now: int) -> float:
    """Return the probability that a string is used again; `now` counts units as the trail does."""
    table = weights().string
    score = use.known
    if score is None:
        score = use.known = _lasting(use, table)
    return 1 / (1 + exp(-score - table["age"] * log1p(now - use.last)))


def _lasting(use: StringUse, table: Mapping[str, float]) -> float:
    """Return the part of the score that does not change as a string grows older."""
    spoken = use.words + use.arguments
    score = use.score + table["told"] * log1p(use.told) + table["crowd"] * log1p(use.crowd)
    if spoken:
        score += table["spoken"] * log1p(spoken)
        score += table["words"] if use.words else 0.0
        score += table["arguments"] if use.arguments else 0.0
    if spoken + use.told == 1:
        score += table["once"]
    return score


@dataclass(slots=True)
class _Count:
    last: int  # unit, counted as the trail does
    words: int = 0
    arguments: int = 0
    told: int = 0


def index_strings(trail: Trail, gone: int, most: int = INDEXED) -> tuple[IndexedString, ...]:
    """Return the initial strings of the trail and those of its first `gone` units: those most likely to be needed per token,
    newest last.
    """
    counts: dict[str, _Count] = {m.text: _Count(-m.age, m.words, m.arguments, m.told) for m in trail.earlier}
    for seen in trail.seen[:gone]:
        for string in seen.strings:
            count = counts.get(string)
            if count is None:
                count = counts[string] = _Count(seen.number)
            count.last = seen.number
            count.words += string in seen.used.get("words", ())
            count.arguments += string in seen.used.get("argument", ())
            count.told += string in seen.used.get("result", ())
    uses, now = trail.uses, len(trail.seen)
    ranked = sorted(
        (-value / (1 + rough(string)), string)
        for string in counts
        if (value := worth(uses[string], now)) > FAINT
    )
    chosen = sorted((string for _, string in ranked[:most]), key=lambda s: (counts[s].last, s))
    return tuple(
        IndexedString(s, uses[s].revision, gone - c.last, c.words, c.arguments, c.told, uses[s].crowd)
        for s in chosen
        if (c := counts[s])
    )
