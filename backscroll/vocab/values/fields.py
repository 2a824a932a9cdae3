"""Validate single values in lines that another program may have written.

Owns: checks of texts, numbers, times, names, places and hashes, and putting them together into checks of objects. They check
types first, because Python compares them loosely (`True == 1`, `1.0 == 1`). Values are never converted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TypeAlias, cast

from backscroll.errors import BackscrollError
from backscroll.vocab.ids import LAST, THREAD_ID, parse_ref
from backscroll.vocab.part import Json

Check: TypeAlias = Callable[[Json], bool]

_HEX = re.compile(r"(?:[0-9a-f]{2})*")
_BLOB = re.compile(r"[0-9a-f]{64}")
_SALT = re.compile(r"[0-9a-f]{32}")
_LONGEST_PLACE = 2000  # bytes: the largest that an index of PostgreSQL takes
_MOST = 1 << 53  # beyond it JSON programs disagree about numbers
_FIRST, _FINAL = datetime(1, 1, 2), datetime(9999, 12, 30)  # noqa: DTZ001 - compared without a zone


def is_text(value: Json) -> bool:
    """Return True for a string."""
    return isinstance(value, str)


def is_name(value: Json) -> bool:
    """Return True for one line of printable text: actors, models, recipes."""
    return isinstance(value, str) and bool(value) and value.isprintable()


def is_count(value: Json, most: int = _MOST) -> bool:
    """Return True for an integer from 0 on; booleans do not count."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most


def is_seq(value: Json) -> bool:
    """Return True for the number of an event."""
    return is_count(value, LAST) and value > 0


def is_time(value: Json) -> bool:
    """Return True for a moment in ISO 8601 with its zone that every clock can show."""
    if not isinstance(value, str) or len(value) > 64 or "\n" in value:
        return False
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return False
    return moment.tzinfo is not None and _FIRST < moment.replace(tzinfo=None) < _FINAL


def is_ref(value: Json) -> bool:
    """Return True for the full name of an event."""
    try:
        return isinstance(value, str) and bool(parse_ref(value))
    except BackscrollError:
        return False


def is_thread(value: Json) -> bool:
    """Return True for the id of a thread."""
    return isinstance(value, str) and THREAD_ID.fullmatch(value) is not None


def is_place(value: Json) -> bool:
    """Return True for a position in a history, as hex digits; the very beginning is empty."""
    return isinstance(value, str) and len(value) <= 2 * _LONGEST_PLACE and _HEX.fullmatch(value) is not None


def is_digest(value: Json) -> bool:
    """Return True for the SHA-256 of some bytes, as hex digits."""
    return isinstance(value, str) and _BLOB.fullmatch(value) is not None


def is_salt(value: Json) -> bool:
    """Return True for the salt of a sealed body, as hex digits."""
    return isinstance(value, str) and _SALT.fullmatch(value) is not None


def is_position(value: Json) -> bool:
    """Return True for the position of a message."""
    return bool(value) and is_place(value)


def is_flag(value: Json) -> bool:
    """Return True for a boolean."""
    return isinstance(value, bool)


def is_alternative(value: Json) -> bool:
    """Return True for the number of an alternative."""
    return is_count(value, (1 << 31) - 1)


def is_flags(value: Json) -> bool:
    """Return True for the flags that a writer sets; forgetting is recorded by `forgotten` events only."""
    return is_count(value, 7)


def is_object(value: Json) -> bool:
    """Return True for a JSON object."""
    return isinstance(value, dict)


def make_list_check(check: Check) -> Check:
    """Return a check for a list of such values."""

    def every(value: Json) -> bool:
        return isinstance(value, list) and all(map(check, cast("list[Json]", value)))

    return every


def pair(check: Check) -> Check:
    """Return a check for two such values."""
    every = make_list_check(check)

    def both(value: Json) -> bool:
        return isinstance(value, list) and len(cast("list[Json]", value)) == 2 and every(value)

    return both


def maybe(check: Check) -> Check:
    """Return a check for such a value or None."""

    def is_allowed(value: Json) -> bool:
        return value is None or check(value)

    return is_allowed


def shape(required: Mapping[str, Check], optional: Mapping[str, Check] | None = None) -> Check:
    """Return a check for an object with these fields."""

    def fits(value: Json) -> bool:
        if not isinstance(value, dict):
            return False
        return wrong_field(cast("dict[str, Json]", value), required, optional or {}) is None

    return fits


def wrong_field(
    data: Mapping[str, Json], required: Mapping[str, Check], optional: Mapping[str, Check]
) -> str | None:
    """Return the name of the first missing or invalid field."""
    for name, check in required.items():
        if name not in data or not check(data[name]):
            return name
    return next((n for n, check in optional.items() if n in data and not check(data[n])), None)
