"""Shared parts of formats with one JSON value per line.

Owns: parsing a line to an object or a `Problem` with its number, typed access to foreign JSON, times, short titles, and ids
made from content alone. Knows no particular vendor.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from datetime import datetime
from typing import NoReturn, cast

from backscroll.formats.shape import OverlongLine
from backscroll.vocab.foreign import Aside, Problem
from backscroll.vocab.message import Content
from backscroll.vocab.part import Json
from backscroll.vocab.values.nesting import DEEPEST_LINE, is_deeper, may_be_deeper

#: The kinds of asides for lines that are not records of the format. Their text is kept too.
MALFORMED = "malformed"  # a line that is not JSON
UNKNOWN = "unknown"  # JSON, but unknown to the format

TOO_DEEP = "nested too deeply"

_TITLE = 80


def as_object(value: Json) -> dict[str, Json] | None:
    """Return the value if it is a JSON object."""
    return cast("dict[str, Json]", value) if isinstance(value, dict) else None


def as_array(value: Json) -> list[Json] | None:
    """Return the value if it is a JSON array."""
    return cast("list[Json]", value) if isinstance(value, list) else None


def as_text(value: Json) -> str:
    """Return the value if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def without(data: Mapping[str, Json], *keys: str) -> dict[str, Json]:
    """Return the other keys of an object."""
    return {key: value for key, value in data.items() if key not in keys}


def own(content: Content, vendor: str) -> Mapping[str, Json]:
    """Return what a format has left in the metadata of a content."""
    return as_object(content.metadata.get(vendor)) or {}


def of_vendor(extra: Mapping[str, Json], vendor: str) -> Mapping[str, Json]:
    """Return what a format has left in the `extra` of a part or the metadata of a thread."""
    return as_object(extra.get(vendor)) or {}


def under(vendor: str, facts: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return facts as `extra` or metadata of a vendor; empty if there are none, so that equal contents stay equal."""
    return {vendor: dict(facts)} if facts else {}


def parse(text: str) -> Json:
    """Return the JSON value of a text; raises ValueError for everything else, including numbers that JSON does not have.

    Excessive nesting is rejected too.
    """
    if isinstance(text, OverlongLine):
        raise ValueError(text.why)  # noqa: TRY004 - the type is ours, the value was too long
    try:
        value = json.loads(text, parse_constant=_no_number, parse_float=_finite)
    except RecursionError as error:
        raise ValueError(TOO_DEEP) from error
    if may_be_deeper(text, DEEPEST_LINE) and is_deeper(value, DEEPEST_LINE):
        raise ValueError(TOO_DEEP)
    return value


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is too large a number")
    return number


def parse_row(number: int, line: str) -> dict[str, Json] | Problem:
    """Return the object on a line, or what is wrong with it."""
    try:
        value = parse(line)
    except ValueError as error:
        return Problem(f"not JSON: {error}", number)
    row = as_object(value)
    return (
        row if row is not None else Problem(f"a JSON {type(value).__name__} where an object belongs", number)
    )


def keep_line(line: str, number: int) -> Aside:
    """Return a line that is not a record of the format as an aside, verbatim."""
    try:
        parse(line)
    except ValueError:
        return Aside(MALFORMED, line, line=number)
    return Aside(UNKNOWN, line, line=number)


def same(one: Json, other: Json) -> bool:
    """Return True if two JSON values are equal, and True is not 1."""
    return one == other and json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def time_of(value: Json) -> str | None:
    """Return a time in ISO 8601 with its zone; times without a zone are taken as UTC, and what is not a time as None."""
    if not isinstance(value, str):
        return None
    try:
        when = datetime.fromisoformat(value)
    except ValueError:
        return None
    return value if when.tzinfo else when.isoformat() + "+00:00"


def short_title(text: str) -> str:
    """Return the first non-empty line, short enough for a list."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    line = " ".join(line.split())
    return line if len(line) <= _TITLE else line[: _TITLE - 1].rstrip() + "…"


def stem(name: str) -> str:
    """Return the name of a file without its suffix."""
    head, dot, _ = name.rpartition(".")
    return head if dot and head else name


def mint_id(*seed: Json) -> str:
    """Return 64 hex digits that depend only on the seed: the same export gives the same ids."""
    return hashlib.sha256(json.dumps(seed, sort_keys=True).encode()).hexdigest()


def minted_uuid(*seed: Json) -> str:
    """Return a UUID (version 8: custom) that depends only on the seed."""
    d = mint_id(*seed)
    return f"{d[:8]}-{d[8:12]}-8{d[13:16]}-{'89ab'[int(d[16], 16) % 4]}{d[17:20]}-{d[20:32]}"
