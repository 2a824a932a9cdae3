"""Texts on their way into columns that hold less than Python does."""

from __future__ import annotations


def plain(text: str) -> str:
    """Return text that a column can hold: lone surrogates become question marks, NUL goes."""
    if text.isascii():
        return text.replace("\0", "")
    return text.encode("utf-8", "replace").decode().replace("\0", "")
