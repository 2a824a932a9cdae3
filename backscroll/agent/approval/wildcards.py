"""Matching of names and paths with `*` and `?`.

Owns the meaning of wildcards in words, paths and folders; matching time is bounded for every pattern. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from posixpath import basename
from unicodedata import normalize


def fits_path(pattern: str, path: str) -> bool:
    """Match a path like an ignore file: `docs/**`, `*.md` in any folder, `/setup.py` at the top only, `src/` for all below."""
    pattern = normalize("NFC", pattern).removeprefix("./")
    if pattern.endswith("/"):
        pattern += "**"
    if "/" not in pattern and pattern != "**":
        return wild(pattern, basename(path))
    return fits_parts(pattern.removeprefix("/").split("/"), path.split("/"))


def fits_parts(pattern: Sequence[str], parts: Sequence[str]) -> bool:
    """Match part by part; `**` stands for any number of parts."""
    reached: set[int] = {0}  # numbers of parts that the pattern may have consumed so far
    for piece in pattern:
        if piece == "**":
            reached = set(range(min(reached, default=len(parts) + 1), len(parts) + 1))
        else:
            reached = {n + 1 for n in reached if n < len(parts) and wild(piece, parts[n])}
    return len(parts) in reached


def wild(pattern: str, text: str) -> bool:
    """Match text: `*` any characters, `?` exactly one; the time is bounded by the product of both lengths."""
    at = start = 0
    star, again = -1, 0
    while at < len(text):
        if start < len(pattern) and pattern[start] == "*":
            star, again = start, at
            start += 1
        elif start < len(pattern) and pattern[start] in ("?", text[at]):
            start += 1
            at += 1
        elif star >= 0:
            again += 1
            start, at = star + 1, again
        else:
            return False
    return all(c == "*" for c in pattern[start:])
