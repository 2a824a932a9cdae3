"""Semantic similarity: centred vectors, pieces of long texts, smoothing along a session.

Owns the arithmetic on vectors and on series of scores. The common component of all texts of a conversation (its mean vector) is
subtracted first: the rest tells them apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy import float32, float64
    from numpy.typing import NDArray

_BLOCK = 96
_SMALL = 180_000  # multiplications that one thread does
_ROUNDS = 24
_LITTLE = 1e-9  # so that equal rows still give directions
Encode: TypeAlias = "Callable[[Sequence[str]], NDArray[float32]]"


def unit(rows: NDArray[float32]) -> NDArray[float32]:
    """Scale rows to length 1; a row of zeros stays zero."""
    return rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-6)


def themes_of(centred: NDArray[float32], most: int = 3) -> NDArray[float32]:
    """Return the few directions along which rows differ most (their first principal components), by subspace iteration.

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
    """Return the product of each row with each of a few others.

    In small blocks: a large product would wake the threads of the linear algebra library, and on a busy machine waiting for them takes
    ten times as long as the work.
    """
    out = np.empty((len(rows), len(others)), np.float32)
    block = max(4, _SMALL // max(1, others.size))
    for start in range(0, len(rows), block):
        np.matmul(rows[start : start + block], others.T, out=out[start : start + block])
    return out


def along(rows: NDArray[float32], direction: NDArray[float32]) -> NDArray[float64]:
    """Return the component of each row along one direction."""
    return products(rows, direction[None, :])[:, 0].astype(float)


def standard(values: NDArray[float64]) -> NDArray[float64]:
    """Return deviations from the mean, in standard deviations."""
    return (values - values.mean()) / (values.std() + 1e-6)


def share(values: NDArray[float64]) -> NDArray[float64]:
    """Return values as shares of the maximum."""
    top = float(values.max(initial=0.0))
    return values / top if top > 0 else values


def ranks(values: NDArray[float64], among: NDArray[float64] | None = None) -> NDArray[float64]:
    """Return the logarithm of each rank, best first; equal values share a rank. `among`: the values of all texts."""
    order = np.sort(values if among is None else among)
    return np.log1p(len(order) - np.searchsorted(order, values, side="right"))


def beside(
    values: NDArray[float64], sessions: NDArray[np.intp], steps: int, rows: NDArray[np.intp] | None = None
) -> NDArray[float64]:
    """Return for each text (or those of `rows`) the value of the text so many steps before it (after it, if negative) in its session, else 0."""
    here = np.arange(len(values)) if rows is None else rows
    there = here - steps
    known = (there >= 0) & (there < len(values))
    there = np.where(known, there, 0)
    return np.where(known & (sessions[there] == sessions[here]), values[there], 0.0)


def smooth_rows(
    rows: NDArray[float64], starts: NDArray[np.intp], ends: NDArray[np.intp], reach: int
) -> NDArray[float64]:
    """Smooth each value with its neighbours in the session, near ones counting most; row by row.

    The mean over so many texts on either side, twice. `starts` and `ends` are those of each text's session.
    """
    here = np.arange(len(starts))
    low, high = np.maximum(here - reach, starts), np.minimum(here + reach + 1, ends)
    size = high - low
    sums = np.zeros((len(rows), len(starts) + 1))
    for _ in range(2):
        np.cumsum(rows, axis=1, out=sums[:, 1:])
        rows = (sums[:, high] - sums[:, low]) / size
    return rows
