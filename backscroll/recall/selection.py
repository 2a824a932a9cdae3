"""The choice: what of the scored texts is worth its tokens, within a budget.

Owns the order of value per token and the refusal of near-duplicates. A text that costs ten times as much has to be that much more
likely, or ten others are the better buy; where the budget is ample the order hardly matters.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

#: How much the price counts: 0 not at all, 1 in full. Learned scores already know long texts from short ones.
THRIFT = 0.9
#: How much the second, third … text of one sitting counts less, where a list or an order is asked for.
SPREAD = 0.4
#: Texts that share more of their terms than this say the same.
SAME = 0.9


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
