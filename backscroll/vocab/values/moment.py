"""Moments: ISO 8601 texts with a time zone, compared as microseconds since 1970. The order of a log never depends on them."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache


@lru_cache(maxsize=256)
def microseconds(iso: str) -> int:
    """Return a time as microseconds since 1970, UTC."""
    return round(datetime.fromisoformat(iso).timestamp() * 1_000_000)
