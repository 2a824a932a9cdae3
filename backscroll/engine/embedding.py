"""Vectors for live revisions, made off the hot path and stored per revision; an append never waits for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from backscroll.engine.engine import Engine

RECIPE = "embedding"


def embed_pending(engine: Engine, thread: str, limit: int = 1000) -> int:
    """Make the vectors that are missing for a thread's live revisions, at most so many; gives how many were made."""
    return 0
