"""Fusion of clues into one score: how likely is it that this text is part of the answer?

No single clue wins everywhere: neighbours help in a chat and hurt among unrelated notes, and words and vectors swap places with the
length of the texts. So the weighting is learned (`fusion.json` says from what, and how well it does), the same for every
language and every kind of conversation. It is one half small decision trees, one half a plain weighted sum. A tree asks a few
clues in turn ("is this the session that matches best?", "are texts here short?") and gives points: it knows the kinds of
conversation that it was learned from, and is led astray by another kind; the sum cannot tell one kind from the other, and so
holds for all. Together they give the logarithm of the odds. Nothing is learned while it runs: same clues, same score.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

from backscroll.recall.tuning import FEW_TEXTS, FEW_TEXTS_WORDS, IDLE_PENALTY, TIMED_BONUS

if TYPE_CHECKING:
    from numpy import float32, float64
    from numpy.typing import NDArray

#: The clues from plain words: among few texts, habits (who usually says what) must not outweigh them.
_WORDS = ("words_share", "pairs_share", "soft_share")
#: Leaves of a tree: their numbers are kept as bits of one 16-bit word.
MOST_LEAVES = 16


@dataclass(frozen=True, slots=True)
class ClueThresholds:
    """The effect of one clue in all trees: the thresholds, and the leaves that each interval leaves possible."""

    clue: str
    limits: NDArray[float32]  # in order
    possible: NDArray[
        np.uint16
    ]  # a row for each interval between thresholds, a column for each tree, a bit for each leaf


@dataclass(frozen=True, slots=True)
class Fusion:
    """All trees, laid out by clue, so that every question of every tree is applied to every text at once; and the sum."""

    steps: tuple[ClueThresholds, ...]
    points: NDArray[float64]  # of each leaf of each tree
    weights: Mapping[
        str, Sequence[float]
    ]  # the clues in the sum, and the range of values in which each counts
    start: float  # what it starts from

    def score(self, clues: Mapping[str, NDArray[float64]]) -> NDArray[float64]:
        """Return the logarithm of the odds that each text belongs to the answer."""
        size = len(next(iter(clues.values())))
        possible = np.full((size, len(self.points)), 0xFFFF, np.uint16)
        for steps in self.steps:
            interval = np.searchsorted(steps.limits, clues[steps.clue].astype(np.float32))
            possible &= steps.possible[interval]
        # In every tree a text ends in one leaf: the first that no answer ruled out.
        leaves = _first_bit()[possible]
        points = self.points[np.arange(len(self.points)), leaves].sum(axis=1)
        for name, (weight, low, high) in self.weights.items():
            points += weight * np.clip(clues[name], low, high)
        none = np.zeros(size)
        if size < FEW_TEXTS:
            words = sum((clues.get(name, none) for name in _WORDS), none) / len(_WORDS)
            points += FEW_TEXTS_WORDS * (1 - size / FEW_TEXTS) * words
        return (
            points
            + self.start
            + TIMED_BONUS * clues.get("inside", none)
            + IDLE_PENALTY * clues.get("idle", none)
        )


@lru_cache(maxsize=1)
def _first_bit() -> NDArray[np.intp]:
    """Return for every 16-bit word the number of its lowest bit that is set."""
    words = np.arange(1 << MOST_LEAVES, dtype=np.int64)
    lowest = words & -words
    return np.log2(np.maximum(lowest, 1)).astype(np.intp)


def _ruled_out(yes: Sequence[int], no: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return for each question the leaves that a "no" rules out, as bits; and the leaves in the order of those bits.

    `yes` and `no` name the next question, or a leaf as -1, -2, …; bits go from the yes side to the no side.
    """
    order: list[int] = []
    gone = [0] * len(yes)

    def walk(node: int) -> int:
        if node < 0:
            order.append(-node - 1)
            return 1 << (len(order) - 1)
        gone[node] = walk(yes[node])
        return gone[node] | walk(no[node])

    walk(0 if yes else -1)
    return gone, order


def laid_out(
    clues: Sequence[str],
    trees: Sequence[Mapping[str, Sequence[float]]],
    weights: Mapping[str, Sequence[float]] | None = None,
    start: float = 0.0,
) -> Fusion:
    """Lay out trees as stored (`clue`, `limit`, `yes`, `no` of each question; `points` of each leaf) by clue, with
    the sum.

    A value up to and including the limit answers "yes".
    """
    points = np.zeros((len(trees), MOST_LEAVES))
    asked: dict[int, list[tuple[float, int, int]]] = {}
    for number, tree in enumerate(trees):
        gone, order = _ruled_out([int(n) for n in tree["yes"]], [int(n) for n in tree["no"]])
        points[number, : len(order)] = [tree["points"][leaf] for leaf in order]
        for clue, limit, leaves in zip(tree["clue"], tree["limit"], gone, strict=True):
            asked.setdefault(int(clue), []).append((float(np.float32(limit)), number, leaves))
    steps: list[ClueThresholds] = []
    for clue, questions in sorted(asked.items()):
        limits = sorted({limit for limit, _, _ in questions})
        possible = np.full((len(limits) + 1, len(trees)), 0xFFFF, np.uint16)
        for limit, number, leaves in questions:
            possible[limits.index(limit) + 1 :, number] &= 0xFFFF ^ leaves
        steps.append(ClueThresholds(clues[clue], np.asarray(limits, np.float32), possible))
    return Fusion(tuple(steps), points, weights or {}, start)


@lru_cache(maxsize=2)
def fusion(*, vectors: bool = True) -> Fusion:
    """Return the learned fusion: with vectors, or by words alone."""
    name = "fusion.json" if vectors else "fusion_words.json"
    data = json.loads(files("backscroll.recall").joinpath(name).read_text(encoding="utf-8"))
    return laid_out(data["clues"], data["trees"], data.get("weights"), data.get("start", 0.0))
