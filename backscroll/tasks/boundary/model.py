"""The learned model: features of a message in, log odds out, with the contribution of each feature.

A linear part and small decision trees on top of it, stored as numbers in `boundary_weights.json`. Nothing is learned at
run time. The contribution of a tree is attributed to the features that it tested on the way.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from backscroll.vocab.part import Json


@dataclass(frozen=True, slots=True)
class DecisionTree:
    """A complete binary tree in heap order; a node whose feature is below 0 is a leaf."""

    asks: tuple[int, ...]  # index of the feature; -1: a leaf
    limits: tuple[float, ...]  # threshold: up to here, go left
    values: tuple[float, ...]  # the expected value at the node


@dataclass(frozen=True, slots=True)
class BoundaryModel:
    """All weights for one list of features."""

    names: tuple[str, ...]
    base: float
    means: tuple[float, ...]
    weights: tuple[float, ...]
    least: tuple[float, ...]
    most: tuple[float, ...]
    trees: tuple[DecisionTree, ...]

    def weigh(self, row: Sequence[float]) -> tuple[float, list[float]]:
        """Return the log odds, and the contribution of each feature.

        A value outside the range in training counts as the end of the range: a pasted page is no longer than a long message.
        """
        row = [min(max(x, low), high) for x, low, high in zip(row, self.least, self.most, strict=True)]
        parts = [w * (x - m) if w else 0.0 for x, m, w in zip(row, self.means, self.weights, strict=True)]
        total = self.base + sum(parts)
        for tree in self.trees:
            asks, limits, values = tree.asks, tree.limits, tree.values
            at = 0
            total += values[0]
            while at < len(asks) and (which := asks[at]) >= 0:
                below = 2 * at + (1 if row[which] <= limits[at] else 2)
                step = values[below] - values[at]
                parts[which] += step
                total += step
                at = below
        return total, parts


def model_of(data: Json) -> BoundaryModel:
    """Parse stored weights."""
    trees = tuple(
        DecisionTree(tuple(t["asks"]), tuple(t["limits"]), tuple(t["values"])) for t in data["trees"]
    )
    means, weights, least, most = (tuple(data[name]) for name in ("means", "weights", "least", "most"))
    return BoundaryModel(tuple(data["names"]), data["base"], means, weights, least, most, trees)


@cache
def load_model() -> BoundaryModel:
    """Return the weights shipped with the package."""
    raw = files("backscroll.tasks").joinpath("boundary_weights.json").read_text(encoding="utf-8")
    return model_of(json.loads(raw)["words"])
