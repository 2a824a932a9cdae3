"""Selection of scored texts within a token budget, with the reason for each.

Owns the order by value per token, the refusal of near-duplicates, and the reason in a few words. A text that costs ten times as much has to be that much more
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
    """Order all texts by value per token, best first; equal ones by time."""
    value = scores - THRIFT * np.log(np.maximum(costs, 1))
    return [int(i) for i in np.argsort(-value, kind="stable")]


def spread(values: NDArray[float64], groups: NDArray[np.intp]) -> NDArray[float64]:
    """Return values reduced for each further text of the same sitting: a list needs something from each."""
    order = np.lexsort((np.arange(len(values)), -values, groups))
    sizes = np.unique(groups[order], return_counts=True)[1]
    places = np.arange(len(values)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    out = values.copy()
    out[order] -= SPREAD * np.log1p(places)
    return out


def same(one: Collection[str], other: Collection[str]) -> bool:
    """Return True if two texts, given by their terms, are near-duplicates."""
    first, second = frozenset(one), frozenset(other)
    longest = max(len(first), len(second))
    if min(len(first), len(second)) < SAME * longest:
        return False
    both = len(first & second)
    return both > 0 and both >= SAME * longest


def reason_of(clues: Mapping[str, NDArray[float64]], number: int) -> str:
    """Return the strongest clues of one text."""
    told = [words for name, least, words in REASONS if name in clues and clues[name][number] >= least]
    if "holds the words" in told and "holds similar words" in told:
        told.remove("holds similar words")
    return ", ".join(told[:_MOST_REASONS]) or "the nearest there is"
