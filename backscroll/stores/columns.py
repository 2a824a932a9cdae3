"""Clean text for columns that cannot hold every Python string."""

from __future__ import annotations


def plain(text: str) -> str:
    """Return text that a column can hold: lone surrogates become question marks, NUL is removed."""
    if text.isascii():
        return text.replace("\0", "")
    return text.encode("utf-8", "replace").decode().replace("\0", "")
