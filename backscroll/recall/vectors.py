"""Nearness of meaning: centred vectors, pieces of long texts, smoothing along a session.

Owns the arithmetic on vectors and on series of scores. What all texts of a conversation have in common (its mean vector) is taken
away first: what is left tells them apart. Before: an encoder, passed in. After: `recall/clues`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import exp
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy import float32, float64
    from numpy.typing import NDArray

_BLOCK = 96
_SMALL = 180_000  # multiplications that one thread does
_ROUNDS = 24
_LITTLE = 1e-9  # so that rows that are all the same still give directions
Encode: TypeAlias = "Callable[[Sequence[str]], NDArray[float32]]"


def unit(rows: NDArray[float32]) -> NDArray[float32]:
    """Rows of length 1; a row of zeros stays one."""
    return rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-6)


def themes_of(centred: NDArray[float32], most: int = 3) -> NDArray[float32]:
    """The few directions along which rows differ most (their first principal components), by subspace iteration.

    A full decomposition would give the same directions and take a hundred times as long on a busy machine.
    """
    size = int(centred.shape[1])
    found = np.cos(np.outer(np.arange(1, size + 1), np.arange(1, min(most, size) + 1))).astype(np.float32)
    blocks = [centred[start : start + _BLOCK] for start in range(0, len(centred), _BLOCK)]
    for _ in range(_ROUNDS):
        again = np.zeros_like(found)
        for block in blocks:
            again += block.T @ (block @ found)
        found = np.linalg.qr(again + _LITTLE * found)[0].astype(np.float32)
    return np.ascontiguousarray(found.T)


def products(rows: NDArray[float32], others: NDArray[float32]) -> NDArray[float32]:
    """The product of each row with each of a few others.

    In small blocks: a large product would wake the threads of the linear algebra library, and on a busy machine waiting for them takes
    ten times as long as the work.
    """
    out = np.empty((len(rows), len(others)), np.float32)
    block = max(4, _SMALL // max(1, others.size))
    for start in range(0, len(rows), block):
        np.matmul(rows[start : start + block], others.T, out=out[start : start + block])
    return out


def along(rows: NDArray[float32], direction: NDArray[float32]) -> NDArray[float64]:
    """How far each row goes in one direction."""
    return products(rows, direction[None, :])[:, 0].astype(float)


def standard(values: NDArray[float64]) -> NDArray[float64]:
    """How far above or below the usual, in standard deviations."""
    return (values - values.mean()) / (values.std() + 1e-6)


def share(values: NDArray[float64]) -> NDArray[float64]:
    """As shares of the highest."""
    top = float(values.max(initial=0.0))
    return values / top if top > 0 else values


def ranks(values: NDArray[float64]) -> NDArray[float64]:
    """The logarithm of each place in the order, best first; equal values in the order of time."""
    out = np.empty(len(values))
    out[np.argsort(-values, kind="stable")] = np.log1p(np.arange(len(values)))
    return out


def ranks_among(values: NDArray[float64], kinds: NDArray[float64]) -> NDArray[float64]:
    """The same, each among those of its own kind."""
    out = np.empty(len(values))
    for kind in np.unique(kinds):
        some = np.flatnonzero(kinds == kind)
        out[some] = ranks(values[some])
    return out


def beside(values: NDArray[float64], sessions: NDArray[np.intp], steps: int) -> NDArray[float64]:
    """For each text the value of the one so many steps before it (after it, where negative) in its session, else 0."""
    out = np.zeros(len(values))
    if abs(steps) >= len(values):
        return out
    if steps > 0:
        out[steps:] = values[:-steps] * (sessions[steps:] == sessions[:-steps])
    else:
        out[:steps] = values[-steps:] * (sessions[:steps] == sessions[-steps:])
    return out


def smoothed(rows: NDArray[float64], sessions: NDArray[np.intp], width: float) -> NDArray[float64]:
    """Each value with those around it in its session, near ones counting most (a bell curve of this width); row by row."""
    out, weight = rows.copy(), np.ones(rows.shape[1])
    for steps in range(1, min(int(3 * width + 0.5), rows.shape[1] - 1) + 1):
        factor = exp(-steps * steps / (2 * width * width))
        same = factor * (sessions[steps:] == sessions[:-steps])
        out[:, :-steps] += same * rows[:, steps:]
        out[:, steps:] += same * rows[:, :-steps]
        weight[:-steps] += same
        weight[steps:] += same
    return out / weight
