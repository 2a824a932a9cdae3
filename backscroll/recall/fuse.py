"""Fusion: many clues in, one score out. How likely is it that this text is part of the answer?

No single clue wins everywhere: neighbours help in a chat and hurt among unrelated notes, words and vectors swap places with the length of
the texts. So the weighing is learned: a fixed set of small decision trees (`fusion.json`: what they were learned from and how well they
do stands in it), the same for every language and every kind of conversation. A tree asks a few clues in turn ("is this the session
that matches best?", "are texts here short?") and gives points; the sum of all points is the logarithm of the odds. Nothing is
learned while it runs: same clues, same score.

Before: `recall/clues`. After: `recall/choose` takes what fits.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, cast

import numpy as np

if TYPE_CHECKING:
    from numpy import float32, float64
    from numpy.typing import NDArray

#: Leaves of a tree: their numbers are kept as bits of one 16-bit word.
MOST_LEAVES = 16


@dataclass(frozen=True, slots=True)
class Fusion:
    """All trees, laid out so that every question of every tree is put to every text at once."""

    clues: tuple[str, ...]
    asks: NDArray[np.intp]  # which clue, for each question of each tree
    limits: NDArray[float32]  # answer yes up to this value
    left: NDArray[np.uint16]  # leaves that stay possible when the answer is no: a bit for each
    starts: NDArray[np.intp]  # the first question of each tree
    points: NDArray[float64]  # of each leaf of each tree

    def score(self, clues: Mapping[str, NDArray[float64]]) -> NDArray[float64]:
        """The logarithm of the odds that each text belongs to the answer."""
        rows = np.stack([clues[name] for name in self.clues]).astype(np.float32)
        # A "no" rules out the leaves on the yes side of its question; the first leaf that is left is where a text ends up.
        no = rows[self.asks] > self.limits[:, None]
        possible = np.bitwise_and.reduceat(np.where(no, self.left[:, None], np.uint16(0xFFFF)), self.starts, axis=0)
        leaves = _first_bit()[possible]
        return np.take_along_axis(self.points, leaves, axis=1).sum(axis=0)


@lru_cache(maxsize=1)
def _first_bit() -> NDArray[np.intp]:
    """For every 16-bit word the number of its lowest bit that is set."""
    words = np.arange(1 << MOST_LEAVES, dtype=np.int64)
    lowest = words & -words
    return np.log2(np.maximum(lowest, 1)).astype(np.intp)


def laid_out(clues: Sequence[str], trees: Sequence[Mapping[str, object]]) -> Fusion:
    """Trees as they are written down (`clue`, `limit`, `yes`, `no` of each question; `points`) in the shape in which they are asked.

    `yes` and `no` name the next question, or a leaf as -1, -2, …; leaves are numbered from left (yes) to right.
    """
    asks: list[int] = []
    limits: list[float] = []
    left: list[int] = []
    starts: list[int] = []
    points = np.zeros((len(trees), MOST_LEAVES))
    for number, tree in enumerate(trees):
        clue, limit = cast("list[int]", tree["clue"]), cast("list[float]", tree["limit"])
        yes, no = cast("list[int]", tree["yes"]), cast("list[int]", tree["no"])
        values = cast("list[float]", tree["points"])
        order: list[int] = []
        spans: dict[int, int] = {}

        def walk(node: int, yes: list[int] = yes, no: list[int] = no, order: list[int] = order, spans: dict[int, int] = spans) -> int:
            """The leaves under a node, as bits, in the order in which a walk meets them."""
            if node < 0:
                order.append(-node - 1)
                return 1 << (len(order) - 1)
            bits = walk(yes[node])
            spans[node] = bits
            return bits | walk(no[node])

        walk(0 if clue else -1)
        points[number, : len(order)] = [values[leaf] for leaf in order]
        starts.append(len(asks))
        for node in range(len(clue)):
            asks.append(clue[node])
            limits.append(limit[node])
            left.append(0xFFFF & ~spans[node])
        if not clue:  # a tree without a question: one that never says no
            asks.append(0)
            limits.append(float("inf"))
            left.append(0xFFFF)
    return Fusion(
        tuple(clues),
        np.asarray(asks, np.intp),
        np.asarray(limits, np.float32),
        np.asarray(left, np.uint16),
        np.asarray(starts, np.intp),
        points,
    )


@lru_cache(maxsize=2)
def fusion(*, vectors: bool = True) -> Fusion:
    """The weighing in use: with vectors, or by words alone."""
    name = "fusion.json" if vectors else "fusion_words.json"
    data = json.loads(files(__package__).joinpath(name).read_text(encoding="utf-8"))
    return laid_out(data["clues"], data["trees"])
