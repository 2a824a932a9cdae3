"""An in-memory cache of vector sign bits: find candidates among hundreds of thousands in a millisecond.

Owns the rows of `signs` read so far, by encoder and by thread (or all threads), and reads only newer ones. Safe for several
OS threads. Results are only candidates: the caller looks each row up again in its own snapshot, so rows that do not exist
yet, or no longer, do no harm.
"""

from __future__ import annotations

import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Whole: TypeAlias = npt.NDArray[np.int64]

_KEPT = 64  # scopes
_COLUMNS = "no, event, said_us, role, bits"
_LOW = (1 << 32) - 1


@dataclass(frozen=True, slots=True)
class VectorCache:
    """The vectors of one scope read so far; entries after `count` belong to a later reader."""

    last: int  # the highest row number examined
    count: int
    rows: Whole  # number, event, time and role of each, by columns
    bits: npt.NDArray[np.uint64]  # by machine words: the first of every vector, the second of every vector …


@dataclass(frozen=True, slots=True)
class VectorFilter:
    """The numeric conditions on a candidate."""

    threads: tuple[int, ...] | None = None
    roles: tuple[int, ...] = ()
    since_us: int | None = None
    until_us: int | None = None


class VectorCaches:
    """The vector caches of one store in one process."""

    def __init__(self) -> None:
        self._shelves: OrderedDict[tuple[int, int | None], VectorCache] = OrderedDict()
        self._turn = threading.Lock()

    def clear(self) -> None:
        """Clear everything: after a forget nothing of it may stay in memory."""
        with self._turn:
            self._shelves.clear()

    def shelf(
        self, connection: sqlite3.Connection, encoder: int, thread: int | None, *, keep: bool
    ) -> VectorCache:
        """Return the vectors of a scope as the connection sees them. A writer does not `keep` them: it may be rolled back."""
        scope = (encoder, thread)
        with self._turn:
            held = self._shelves.get(scope)
            rows, last = _news(connection, encoder, thread, held)
            if held is not None and last == held.last:
                return held
            made = _extend_shelf(held, rows, last, in_place=keep)
            if keep:
                self._shelves[scope] = made
                self._shelves.move_to_end(scope)
                while len(self._shelves) > _KEPT:
                    self._shelves.popitem(last=False)
            return made


def _news(
    connection: sqlite3.Connection, encoder: int, thread: int | None, held: VectorCache | None
) -> tuple[list[tuple[Any, ...]], int]:
    """Return rows of a scope that are not cached yet, and the last number examined."""
    last: int = connection.execute("SELECT coalesce(max(no), 0) FROM signs").fetchone()[0]
    if held is not None and last <= held.last:
        return [], held.last
    low = -1 if held is None else held.last
    if thread is None:
        sql = f"SELECT {_COLUMNS} FROM signs WHERE no > ? AND encoder = ? ORDER BY no"
        return connection.execute(sql, (low, encoder)).fetchall(), last
    span = (thread << 32, thread << 32 | _LOW)
    if held is None:
        sql = (
            f"SELECT {_COLUMNS} FROM signs INDEXED BY signs_event WHERE event BETWEEN ? AND ? AND encoder = ?"
        )
        return connection.execute(sql, (*span, encoder)).fetchall(), last
    # The plus keeps SQLite from scanning the whole thread for a few new rows.
    sql = f"SELECT {_COLUMNS} FROM signs WHERE no > ? AND +event BETWEEN ? AND ? AND encoder = ? ORDER BY no"
    return connection.execute(sql, (low, *span, encoder)).fetchall(), last


def _extend_shelf(
    held: VectorCache | None, rows: Sequence[tuple[Any, ...]], last: int, *, in_place: bool
) -> VectorCache:
    import numpy as np

    width = len(rows[0][4]) // 8 if rows else held.bits.shape[0] if held is not None else 1
    sound = [row for row in rows if isinstance(row[4], bytes) and len(row[4]) == 8 * width]
    count = 0 if held is None else held.count
    whole = count + len(sound)
    if held is None or not in_place or whole > held.rows.shape[1] or held.bits.shape[0] != width:
        room = max(64, whole + (whole >> 1 if in_place else 0))
        numbers = np.zeros((4, room), dtype=np.int64)
        bits = np.zeros((width, room), dtype=np.uint64)
        if held is not None and held.bits.shape[0] == width:
            numbers[:, :count] = held.rows[:, :count]
            bits[:, :count] = held.bits[:, :count]
    else:
        numbers, bits = held.rows, held.bits
    if sound:
        numbers[:, count:whole] = np.array([row[:4] for row in sound], dtype=np.int64).T
        joined = np.frombuffer(b"".join(row[4] for row in sound), dtype="<u8")
        bits[:, count:whole] = joined.reshape(len(sound), width).T
    return VectorCache(last, whole, numbers, bits)


def best(shelf: VectorCache, bits: bytes, sought: VectorFilter, most: int) -> list[tuple[int, int, int, int]]:
    """Return up to `most` cached vectors that share the most signs: (differing signs, number, event, time)."""
    import numpy as np

    mine = np.frombuffer(bits, dtype="<u8")
    if not shelf.count or mine.shape[0] != shelf.bits.shape[0]:
        return []
    rows = shelf.rows[:, : shelf.count]
    apart: Whole = np.zeros(shelf.count, dtype=np.int64)
    for word, theirs in zip(mine, shelf.bits, strict=True):
        apart += np.bitwise_count(theirs[: shelf.count] ^ word)
    chosen = _fitting(rows, sought)
    if chosen is not None:
        apart = apart[chosen]
    picked = np.arange(apart.shape[0], dtype=np.int64)
    if most < apart.shape[0]:
        # Among equals the newest rows, so that the result does not depend on how the cache was filled.
        rank = (apart << 44) - (rows[0] if chosen is None else rows[0][chosen])
        picked = np.argpartition(rank, most)[:most]
    places = picked if chosen is None else chosen[picked]
    return [
        (int(far), int(row[0]), int(row[1]), int(row[2]))
        for far, row in zip(apart[picked], rows[:, places].T, strict=True)
    ]


def _fitting(rows: Whole, sought: VectorFilter) -> Whole | None:
    """Return the indexes of matching rows; None without a condition."""
    import numpy as np

    conditions: list[Any] = []
    if sought.threads is not None:
        conditions.append(_among(rows[1] >> 32, sought.threads))
    if sought.roles:
        conditions.append(_among(rows[3], sought.roles))
    if sought.since_us is not None:
        conditions.append(rows[2] >= sought.since_us)
    if sought.until_us is not None:
        conditions.append(rows[2] < sought.until_us)
    if not conditions:
        return None
    return np.flatnonzero(np.logical_and.reduce(conditions))


def _among(values: Whole, wanted: Sequence[int]) -> npt.NDArray[np.bool_]:
    """Return a mask of the wanted values; a few comparisons are faster than a search in a list."""
    import numpy as np

    if 0 < len(wanted) <= 4:
        return np.logical_or.reduce([values == each for each in wanted])
    return np.isin(values, np.array(wanted, dtype=np.int64))
