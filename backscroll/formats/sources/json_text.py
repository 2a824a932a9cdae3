"""Read and write JSON from other programs: write it so that any UTF-8 file can hold it, read it even if truncated.

Owns: writing without escapes (except lone surrogates, which JavaScript leaves when it cuts an emoji in two), parsing one
value without raising, and salvaging the complete elements of a truncated array. Does not open files.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import NamedTuple

from backscroll.formats.sources.rows import TOO_DEEP, as_object, parse
from backscroll.vocab.part import Json
from backscroll.vocab.values.nesting import DEEPEST_LINE, is_deeper
from backscroll.vocab.values.unicode import valid_json

_SURROGATE = re.compile("[\ud800-\udfff]")
_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


class NotJson(NamedTuple):
    """The reason a text is not a JSON value."""

    what: str
    at: int  # characters before the position


class ArrayElement(NamedTuple):
    """One whole element of an array."""

    value: Json
    raw: str
    line: int


@dataclass(frozen=True, slots=True)
class ArrayBreak:
    """The position where an array breaks off, and the text from there on."""

    what: str
    at: int
    line: int
    rest: str


def escape_surrogates(text: str) -> str:
    """Return JSON text that UTF-8 can hold: lone surrogates as escapes, everything else as it is."""
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def printable(text: str) -> str:
    """Return plain text that UTF-8 can hold: lone surrogates become U+FFFD."""
    return _SURROGATE.sub("\ufffd", text)


def dumps(value: Json, indent: int | None = None) -> str:
    """Return readable JSON: letters unescaped; compact unless indented."""
    separators = (",", ":") if indent is None else None
    return escape_surrogates(json.dumps(value, ensure_ascii=False, indent=indent, separators=separators))


def try_parse(text: str) -> Json | NotJson:
    """Return the value, or why it is not valid JSON. Never raises, however deep or broken the text is."""
    try:
        return parse(text)
    except json.JSONDecodeError as error:
        return NotJson(error.msg, error.pos)
    except ValueError as error:  # excessive nesting, numbers that JSON does not have
        return NotJson(str(error), 0)


def words_parsed(text: str) -> Json | NotJson:
    """Parse a text and clean it to valid Unicode: a JSON escape can encode a lone surrogate."""
    value = try_parse(text)
    return value if isinstance(value, NotJson) or "\\u" not in text else valid_json(value)


def object_in(text: str) -> dict[str, Json] | None:
    """Return the object that a text holds; None if it holds anything else."""
    return as_object(try_parse(text))


def value_in(text: str) -> Json:
    """Return the value that a text holds; None if it is not valid JSON."""
    value = try_parse(text)
    return None if isinstance(value, NotJson) else value


def elements(text: str, start: int = 0) -> tuple[list[ArrayElement], ArrayBreak | None]:
    """Return the complete elements of the array that opens at `start`, and where it broke off (None if complete)."""
    out: list[ArrayElement] = []
    at = _skip(text, start)
    if not text.startswith("[", at):
        return out, _cut(text, at, "no array starts here")
    at += 1
    line = 1 + text.count("\n", 0, at)
    while True:
        begin = _skip(text, at)
        if text.startswith("]", begin):
            return out, None
        if out:
            if not text.startswith(",", begin):
                return out, _cut(text, begin, "a comma or the end of the array is missing")
            begin = _skip(text, begin + 1)
        line += text.count("\n", at, begin)
        try:
            value, end = _DECODER.raw_decode(text, begin)
        except (ValueError, RecursionError) as error:
            what = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
            return out, _cut(text, begin, what)
        if is_deeper(value, DEEPEST_LINE):
            return out, _cut(text, begin, TOO_DEEP)
        if end == len(text) and text[end - 1].isdigit():
            return out, _cut(text, begin, "the text ends inside a number")
        out.append(ArrayElement(value, text[begin:end], line))
        line += text.count("\n", begin, end)
        at = end


def _skip(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at


def _cut(text: str, at: int, what: str) -> ArrayBreak:
    return ArrayBreak(what, at, 1 + text.count("\n", 0, at), text[at:])
