"""Positions: byte strings whose sort order is the order of a history.

An appended message is at the number of its event. A message inserted between two others gets a string between theirs,
ending in the number of its event so that no two are equal. Bytes compare the same way in Python, SQLite and PostgreSQL.
"""

from __future__ import annotations

WIDTH = 6


def at_end(seq: int) -> bytes:
    """Return the position of what event `seq` adds to the end of a history."""
    return seq.to_bytes(WIDTH, "big")


def between(low: bytes, high: bytes | None, seq: int) -> bytes:
    """Return a position after `low` and before `high` (None: no upper bound), made by event `seq`."""
    if high is None:
        return at_end(seq)
    if not low < high:
        raise ValueError("positions out of order")
    out = bytearray()
    bounded = True  # still equal to `high` so far
    index = 0
    while True:
        a = low[index] if index < len(low) else 0
        b = high[index] if bounded and index < len(high) else 256
        if b - a > 1:
            out.append((a + b) // 2)
            return bytes(out) + at_end(seq)
        out.append(a)
        if a < b:
            bounded = False
        index += 1
