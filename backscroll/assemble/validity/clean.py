"""JSON that any wire can carry: no lone surrogates, no numbers that JSON does not have, only JSON values.

Owns: finding and mending what is wrong inside strings, numbers and keys, at any depth; what is right stays the same object.
Refuses: values that are no JSON at all. After: `draft`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import cast

from backscroll.errors import InvalidInput
from backscroll.vocab.part import Json

_SURROGATES = re.compile("[\ud800-\udbff][\udc00-\udfff]|[\ud800-\udfff]")


def clean_text(text: str) -> str:
    """The text without lone surrogates; two halves that belong together become their letter again."""
    return _SURROGATES.sub(_whole, text)


def _whole(found: re.Match[str]) -> str:
    return found[0].encode("utf-16", "surrogatepass").decode("utf-16") if len(found[0]) == 2 else ""


def cleaned(value: Json) -> Json:
    """The value as JSON that UTF-8 can hold: the very same object where nothing is wrong with it."""
    try:
        return _cleaned(value)
    except RecursionError as error:
        raise InvalidInput(
            "a message is nested too deeply to be read", hint="check what was put into it"
        ) from error


def _cleaned(value: Json) -> Json:
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return clean_text(value) if _SURROGATES.search(value) else value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list | tuple):
        items = cast("list[Json]", value)
        done = [_cleaned(item) for item in items]
        same = isinstance(value, list) and all(new is old for new, old in zip(done, items, strict=True))
        return items if same else done
    if isinstance(value, Mapping):
        return _cleaned_object(cast("Mapping[Json, Json]", value))
    raise InvalidInput(
        f"a message holds a {type(value).__name__}, which is no JSON value",
        hint="pass plain dictionaries, lists and strings; objects of a client library have a method for that",
    )


def _cleaned_object(value: Mapping[Json, Json]) -> Json:
    done = {_key(key): _cleaned(inner) for key, inner in value.items()}
    same = isinstance(value, dict) and len(done) == len(value)
    if same and all(a == b and done[a] is old for a, (b, old) in zip(done, value.items(), strict=True)):
        return value
    return done


def _key(key: Json) -> str:
    return clean_text(key) if isinstance(key, str) else str(key)
