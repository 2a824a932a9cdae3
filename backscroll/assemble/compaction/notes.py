"""Notes: specific strings that are carried on when the text around them fades.

Owns the worth of a string: who used it, how often, how lately, what it looks like. A note names the revision it was read in.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import exp, log1p

from backscroll.assemble.compaction.trail import StringUse
from backscroll.assemble.compaction.weights import weights

FAINT = 0.001  # chances below this are not worth looking at


def worth(use: StringUse, now: int) -> float:
    """Return the chance that a string is used again; `now` counts units as the trail does."""
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
