"""Nesting of JSON: the limits, and a check that needs no stack.

Parsing, writing and walking a JSON value use stack per level, so deeper nesting is rejected on input, with its position,
instead of failing later.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, cast

from backscroll.vocab.part import Json

#: The limit of the log.
DEEPEST: Final = 200
#: The limit of a line in a file: a value of the log, plus the file's own nesting.
DEEPEST_LINE: Final = DEEPEST + 40

_HOLDERS: Final = (dict, list, tuple)


def is_deeper(value: Json, most: int) -> bool:
    """Return True if more than `most` lists and objects are nested."""
    level: list[Json] = [value] if isinstance(value, _HOLDERS) else []
    for _ in range(most):
        level = [inner for outer in level for inner in _inside(outer) if isinstance(inner, _HOLDERS)]
        if not level:
            return False
    return bool(level)


def may_be_deeper(text: str, most: int) -> bool:
    """Return False if a text has too few brackets for that nesting: a fast check that usually suffices."""
    return text.count("[") + text.count("{") > most


def _inside(value: Json) -> Iterable[Json]:
    if isinstance(value, dict):
        return cast("dict[str, Json]", value).values()
    return cast("Sequence[Json]", value)
