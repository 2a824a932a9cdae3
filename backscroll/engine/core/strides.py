"""Long work in strides, so that it can stop at any moment and others get a chance. After: `engine/prompts/tree/tree`, `engine/knowledge/analysis`."""

from __future__ import annotations

from collections.abc import Callable


def in_strides(work: Callable[[int], int], stride: int, limit: int | None) -> int:
    """Do work until nothing is left, or `limit` is reached; `work` is told how much to take on, and says how much it did."""
    done = 0
    while limit is None or done < limit:
        most = stride if limit is None else min(stride, limit - done)
        more = work(most)
        done += more
        if more < most:
            break
    return done
