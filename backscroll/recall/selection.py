"""Choose which of the scored texts are worth their tokens within a budget, and say why each was chosen.

Owns the order of value per token, the refusal of near-duplicates, and the reason in a few words. A text that costs ten times as much has to be that much more
likely, or ten others are the better buy; where the budget is ample the order hardly matters.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

import numpy as np

from backscroll.recall.tuning import REASONS, SAME, SPREAD, THRIFT

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

_MOST_REASONS = 3


def in_order(scores: NDArray[float64], costs: NDArray[float64]) -> list[int]:
    """Return all texts, the best value for the tokens first; equal ones in the order of time."""
    value = scores - THRIFT * np.log(np.maximum(costs, 1))
    return [int(i) for i in np.argsort(-value, kind="stable")]


def spread(values: NDArray[float64], groups: NDArray[np.intp]) -> NDArray[float64]:
    """Return values that fall with each further text of the same sitting: a list wants something of every one."""
    order = np.lexsort((np.arange(len(values)), -values, groups))
    sizes = np.unique(groups[order], return_counts=True)[1]
    places = np.arange(len(values)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    out = values.copy()
    out[order] -= SPREAD * np.log1p(places)
    return out


def same(one: Collection[str], other: Collection[str]) -> bool:
    """Return True if two texts, given by their terms, say the same."""
    first, second = frozenset(one), frozenset(other)
    longest = max(len(first), len(second))
    if min(len(first), len(second)) < SAME * longest:
        return False
    both = len(first & second)
    return both > 0 and both >= SAME * longest


def reason_of(clues: Mapping[str, NDArray[float64]], number: int) -> str:
    """Return the strongest clues for one text."""
    told = [words for name, least, words in REASONS if name in clues and clues[name][number] >= least]
    if "holds the words" in told and "holds similar words" in told:
        told.remove("holds similar words")
    return ", ".join(told[:_MOST_REASONS]) or "the nearest there is"
