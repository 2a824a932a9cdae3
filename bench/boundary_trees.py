"""Learn the boundary weights: a logistic regression, then small trees on its residuals, with numpy alone.

Gives the shape that `backscroll/tasks/boundary/model.py` reads. Rows and columns are sampled with a fixed seed: the same rows give the same weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

BINS = 32
RIDGE = 50.0
DEPTH = 4
TREES = 80
RATE = 0.1
SHRINK = 20.0
LEAST = 30.0
COLUMNS = 0.4
ROWS = 0.7
SEED = 7


@dataclass
class Learned:
    """What was learned: a linear part and trees (which number, up to where, value of each node)."""

    base: float
    means: np.ndarray
    weights: np.ndarray
    least: np.ndarray  # the range of each number; what lies outside counts as its end
    most: np.ndarray
    trees: list[tuple[np.ndarray, np.ndarray, np.ndarray]]

    def scores(self, rows: np.ndarray) -> np.ndarray:
        """Logarithms of the odds."""
        rows = np.clip(rows, self.least, self.most)
        out = self.base + (rows - self.means) @ self.weights
        for asks, limits, values in self.trees:
            out += values[_leaves(rows, asks, limits)]
        return out

    def to_json(self, names: tuple[str, ...], shift: float) -> dict[str, Any]:
        """Numbers only. `shift` moves the threshold to the middle."""
        trees = [
            {
                "asks": [int(a) for a in asks],
                "limits": [_short(x) for x in limits],
                "values": [_short(x) for x in values],
            }
            for asks, limits, values in self.trees
        ]
        return {
            "names": list(names),
            "base": _short(self.base - shift),
            "means": [_short(x) for x in self.means],
            "weights": [_short(x) for x in self.weights],
            "least": [_short(x) for x in self.least],
            "most": [_short(x) for x in self.most],
            "trees": trees,
        }


def _short(x: float) -> float:
    return float(f"{float(x):.6g}")


def learn(rows: np.ndarray, gold: np.ndarray, weight: np.ndarray, trees: int = TREES) -> Learned:
    """Learn from rows of numbers; `weight` says how much each row counts."""
    least, most = np.quantile(rows, 0.002, axis=0), np.quantile(rows, 0.998, axis=0)
    # A flag that is set in one message of a thousand keeps its range.
    most = np.where(np.isin(rows, (0.0, 1.0)).all(0), 1.0, most)
    rows = np.clip(rows, least, most)
    base, means, weights = _linear(rows, gold, weight)
    out = Learned(base, means, weights, least, most, [])
    edges = [_edges(rows[:, j]) for j in range(rows.shape[1])]
    binned = np.stack(
        [np.searchsorted(e, rows[:, j], side="left") for j, e in enumerate(edges)], axis=1
    ).astype(np.uint8)
    lots = np.random.default_rng(SEED)
    score = out.scores(rows)
    for _ in range(trees):
        odds = 1 / (1 + np.exp(-score))
        slope, bend = weight * (odds - gold), weight * odds * (1 - odds)
        some = np.flatnonzero(lots.random(len(rows)) < ROWS)
        columns = np.sort(lots.choice(rows.shape[1], max(1, int(rows.shape[1] * COLUMNS)), replace=False))
        tree = _tree(binned[some], slope[some], bend[some], edges, columns)
        out.trees.append(tree)
        score += tree[2][_leaves(rows, tree[0], tree[1])]
    return out


def _linear(rows: np.ndarray, gold: np.ndarray, weight: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    means, spread = rows.mean(0), rows.std(0) + 1e-6
    z = np.c_[np.ones(len(rows)), (rows - means) / spread]
    b = np.zeros(z.shape[1])
    ridge = np.full(len(b), RIDGE)
    ridge[0] = 0.0
    for _ in range(15):
        odds = 1 / (1 + np.exp(-z @ b))
        bend = z.T @ (z * (weight * odds * (1 - odds))[:, None]) + np.diag(ridge)
        b -= np.linalg.solve(bend, z.T @ (weight * (odds - gold)) + ridge * b)
    return float(b[0]), means, b[1:] / spread


def _edges(column: np.ndarray) -> np.ndarray:
    values = np.unique(column)
    if len(values) <= BINS:
        return (values[:-1] + values[1:]) / 2
    return np.unique(np.quantile(column, np.linspace(0, 1, BINS + 1)[1:-1]))


def _tree(
    binned: np.ndarray, slope: np.ndarray, bend: np.ndarray, edges: list[np.ndarray], columns: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Grow one tree, level by level, by the gain of each split."""
    size = 2 ** (DEPTH + 1) - 1
    asks, cuts = np.full(size, -1), np.zeros(size, np.int64)
    limits, values = np.zeros(size), np.zeros(size)
    values[0] = -slope.sum() / (bend.sum() + SHRINK)
    node = np.zeros(len(binned), np.int64)
    for level in range(DEPTH):
        first, count = 2**level - 1, 2**level
        here = node >= first
        place, g, h, b = node[here] - first, slope[here], bend[here], binned[here]
        gs, hs = np.bincount(place, g, count), np.bincount(place, h, count)
        best = np.full(count, 1e-6)
        for j in columns:
            k = len(edges[j])
            if not k:
                continue
            key = place * (BINS + 1) + b[:, j]
            left_g = np.bincount(key, g, count * (BINS + 1)).reshape(count, -1).cumsum(1)[:, :k]
            left_h = np.bincount(key, h, count * (BINS + 1)).reshape(count, -1).cumsum(1)[:, :k]
            right_g, right_h = gs[:, None] - left_g, hs[:, None] - left_h
            gain = left_g**2 / (left_h + SHRINK) + right_g**2 / (right_h + SHRINK)
            gain -= (gs**2 / (hs + SHRINK))[:, None]
            gain[(left_h < LEAST) | (right_h < LEAST)] = -1.0
            at = gain.argmax(1)
            for q in np.flatnonzero(gain[np.arange(count), at] > best):
                i, c = first + q, at[q]
                best[q] = gain[q, c]
                asks[i], cuts[i], limits[i] = j, c, edges[j][c]
                values[2 * i + 1] = -left_g[q, c] / (left_h[q, c] + SHRINK)
                values[2 * i + 2] = -right_g[q, c] / (right_h[q, c] + SHRINK)
        below = np.full(len(node), -1)
        for i in range(first, first + count):
            if asks[i] >= 0:
                mine = np.flatnonzero(node == i)
                below[mine] = np.where(binned[mine, asks[i]] <= cuts[i], 2 * i + 1, 2 * i + 2)
        node = below
    return asks, limits, values * RATE


def _leaves(rows: np.ndarray, asks: np.ndarray, limits: np.ndarray) -> np.ndarray:
    at = np.zeros(len(rows), np.int64)
    for _ in range(DEPTH):
        which = asks[at]
        below = np.where(
            rows[np.arange(len(rows)), np.maximum(which, 0)] <= limits[at], 2 * at + 1, 2 * at + 2
        )
        at = np.where(which >= 0, below, at)
    return at
