"""Texts and times on their way into columns that hold less than Python does."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache


def plain(text: str) -> str:
    """Text that a column can hold: lone surrogates become U+FFFD, NUL goes."""
    if text.isascii():
        return text.replace("\0", "")
    return text.encode("utf-8", "replace").decode().replace("\0", "")


@lru_cache(maxsize=256)
def microseconds(iso: str) -> int:
    """A time as microseconds since 1970, UTC."""
    return round(datetime.fromisoformat(iso).timestamp() * 1_000_000)
