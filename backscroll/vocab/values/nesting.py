"""Nesting of JSON: the limits, and a check that needs no stack.

Reading, writing and walking a JSON value take a call on the stack for every level, so what is nested deeper is refused where
it comes in, with the place, instead of failing somewhere later.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, cast

from backscroll.vocab.part import Json

#: What the log takes.
DEEPEST: Final = 200
#: What a line of a file may have: a value of the log, and what a file puts around it.
DEEPEST_LINE: Final = DEEPEST + 40

_HOLDERS: Final = (dict, list, tuple)


def is_deeper(value: Json, most: int) -> bool:
    """Return True if more than so many lists and objects are nested."""
    level: list[Json] = [value] if isinstance(value, _HOLDERS) else []
    for _ in range(most):
        level = [inner for outer in level for inner in _inside(outer) if isinstance(inner, _HOLDERS)]
        if not level:
            return False
    return bool(level)


def may_be_deeper(text: str, most: int) -> bool:
    """Return False where a text has too few brackets to be nested so deep: nearly always, and quick to see."""
    return text.count("[") + text.count("{") > most


def _inside(value: Json) -> Iterable[Json]:
    if isinstance(value, dict):
        return cast("dict[str, Json]", value).values()
    return cast("Sequence[Json]", value)
