"""Errors by name: which one a program reported, its message, and its location in the user's own code."""

from __future__ import annotations

import re
from dataclasses import dataclass

from backscroll.derive.extract.code.words import error_names, shape, words

_WIDE = 60_000  # characters read from the end of an output: errors come last
_MESSAGE = 200


@dataclass(frozen=True, slots=True)
class ErrorMention:
    """A reported error."""

    name: str
    message: str
    place: str  # a file; empty: unknown
    line: str  # as written in the text


def trouble_in(text: str) -> ErrorMention | None:
    """Return the last error that a text names; None if it names none."""
    text = text[-_WIDE:]
    best: tuple[int, re.Match[str]] | None = None
    for pattern in error_names():
        for found in pattern.finditer(text):
            if not _telling(text, found):
                continue
            # An error with a message is more useful than a bare name.
            rank = found.start() + (_WIDE if found["message"] else 0)
            if best is None or rank > best[0]:
                best = (rank, found)
    if best is None:
        return None
    found = best[1]
    start = text.rfind("\n", 0, found.start()) + 1
    end = text.find("\n", found.end())
    line = text[start : end if end >= 0 else len(text)].strip()[:300]
    message = (found["message"] or "").strip()[:_MESSAGE]
    return ErrorMention(short_name(found["name"]), message, _place(text, found.start()), line)


def _telling(text: str, found: re.Match[str]) -> bool:
    name = short_name(found["name"])
    if name in words("errors", "idle"):
        return False
    start = text.rfind("\n", 0, found.start()) + 1
    before = text[start : found.start()].lstrip()
    # Source code mentions errors too: one that is raised, caught, imported or defined there did not occur.
    return not re.match(
        r"(?:\d+[\s:|→]+)?\s*(?:except|raise|throw|throws|catch|import|from|class|return|if|new|def|pub|#|//|\*|\w+\s*=)\b",
        before,
    )


def short_name(name: str) -> str:
    """Return an error without its module: `json.decoder.JSONDecodeError` is a `JSONDecodeError`."""
    return name.rsplit(".", 1)[-1]


def _place(text: str, at: int) -> str:
    """Return the nearest file of the user: before the error (a trace), else right after it (a report)."""
    before = [m for m in shape("errors", "place").finditer(text, max(0, at - 4_000), at) if _own(text, m)]
    behind = (m for m in shape("errors", "place").finditer(text, at, at + 600) if _own(text, m))
    found = before[-1] if before else next(behind, None)
    return (found["a"] or found["b"]) if found else ""


def _own(text: str, found: re.Match[str]) -> bool:
    """Return True for a place in the user's own code, not in a language's library or a package."""
    start = text.rfind("\n", 0, found.start()) + 1
    return not shape("errors", "foreign").search(text, start, found.end())
