"""JSON that any wire can carry: no lone surrogates, no invalid numbers, only JSON values.

Owns: finding and repairing invalid strings, numbers and keys, at any depth; a valid value stays the same object. Not
here: values that are not JSON at all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final, cast

from backscroll.errors import InvalidInput
from backscroll.vocab.part import Json
from backscroll.vocab.values.unicode import is_valid_text, valid_text

_DEEPEST: Final = 200  # levels of lists and objects; real ones have a dozen


def clean_json(value: Json) -> Json:
    """Return the value as JSON that UTF-8 can encode; the same object if it is valid already."""
    return value if _is_clean(value) else _clean_value(value)


def _is_clean(value: Json) -> bool:
    """Check level by level, because every message of every prompt is checked and almost all are clean."""
    level: list[Json] = [value]
    for _ in range(_DEEPEST):
        below: list[Json] = []
        for each in level:
            kind = cast("type[object]", type(each))
            if kind is str:
                if not is_valid_text(each):
                    return False
            elif kind is dict:
                below += each.values()
                if not all(type(key) is str and is_valid_text(key) for key in each):
                    return False
            elif kind is list:
                below += each
            elif each is None or kind is bool or kind is int:
                continue
            elif kind is not float or not math.isfinite(each):
                return False
        if not below:
            return True
        level = below
    raise InvalidInput("a message is nested too deeply to be read", hint="check what was put into it")


def _clean_value(value: Json) -> Json:
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return valid_text(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list | tuple):
        items = cast("list[Json]", value)
        done = [_clean_value(item) for item in items]
        same = isinstance(value, list) and all(new is old for new, old in zip(done, items, strict=True))
        return items if same else done
    if isinstance(value, Mapping):
        return _cleaned_object(cast("Mapping[Json, Json]", value))
    raise InvalidInput(
        f"a message holds a {type(value).__name__}, which is not a JSON value",
        hint="pass plain dictionaries, lists and strings; objects of a client library have a method for that",
    )


def _cleaned_object(value: Mapping[Json, Json]) -> Json:
    done = {_key(key): _clean_value(inner) for key, inner in value.items()}
    same = isinstance(value, dict) and len(done) == len(value)
    if same and all(a == b and done[a] is old for a, (b, old) in zip(done, value.items(), strict=True)):
        return value
    return done


def _key(key: Json) -> str:
    return valid_text(key) if isinstance(key, str) else str(key)
