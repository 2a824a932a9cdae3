"""Notes: specific strings that are carried on when the text around them fades.

Owns the worth of a string: who used it, how often, how lately, what it looks like. A note names the revision it was read in.
Before: `assemble/fade_trail`. After: `assemble/fade` chooses, `assemble/compaction` writes notes down.
"""

from __future__ import annotations

from math import exp, log1p

from backscroll.assemble.fade_trail import Use
from backscroll.assemble.fade_weights import weights


def worth(use: Use, now: int) -> float:
    """The chance that a string is used again; `now` counts units as the trail does."""
    table = weights().string
    spoken = use.words + use.arguments
    score = use.score + table["age"] * log1p(now - use.last) + table["told"] * log1p(use.told)
    if spoken:
        score += table["spoken"] * log1p(spoken)
        if use.words:
            score += table["words"]
        if use.arguments:
            score += table["arguments"]
    if spoken + use.told == 1:
        score += table["once"]
    return 1 / (1 + exp(-score))
