"""Stream a huge JSON document element by element, in little memory.

Owns: an array of conversations, or an object that holds one, read from pieces of text. Complete elements are yielded; an
invalid element is skipped and reported; a truncated file is reported with the position. Does not interpret the elements.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from backscroll.errors import FormatError
from backscroll.formats.shape import Source
from backscroll.formats.sources.rows import TOO_DEEP
from backscroll.vocab.foreign import Problem
from backscroll.vocab.part import Json
from backscroll.vocab.values.nesting import DEEPEST_LINE, is_deeper

_SPACE = re.compile(r"[ \t\r\n]*")
_STRUCTURE = re.compile(r'"(?:[^"\\]|\\.)*("?)|[\[\]{},]', re.DOTALL)
_NEAR_THE_END = 16  # a cut escape or literal fails at most this far from the cut


@dataclass(frozen=True, slots=True)
class StreamElement:
    """One element of an array, counted from 1, and the line that it starts on."""

    number: int
    value: Json
    line: int


@dataclass(frozen=True, slots=True)
class Member:
    """One key of the object that the document is, with its whole value."""

    key: str
    value: Json
    line: int


Piece: TypeAlias = StreamElement | Member | Problem


class _BrokenValue(Exception):
    """A value that is not valid JSON; the rest of the text may be."""


class _UnexpectedEnd(Exception):
    """The text ended in the middle of something."""


def _finite(text: str) -> float | str:
    number = float(text)
    return number if math.isfinite(number) else text  # a number that JSON does not have stays as written


class _TextWindow:
    """The part of the text in memory: grows at its end, is dropped at its beginning."""

    def __init__(self, chunks: Iterator[str]) -> None:
        self._chunks = chunks
        self._text = ""
        self._at = 0
        self._decoder = json.JSONDecoder(strict=False, parse_constant=str, parse_float=_finite)
        self.line = 1

    def _grow(self, least: int) -> bool:
        """Read until `least` characters are ahead or the text ends; False if nothing more was read."""
        new: list[str] = []
        have = len(self._text) - self._at
        while have < least and (chunk := next(self._chunks, None)) is not None:
            new.append(chunk)
            have += len(chunk)
        if not any(new):
            return False
        self._text, self._at = "".join([self._text[self._at :], *new]), 0
        return True

    def _pass(self, end: int) -> None:
        self.line += self._text.count("\n", self._at, end)
        self._at = end

    def peek(self) -> str:
        """Return the next character that is not a space; empty at the end."""
        while True:
            space = _SPACE.match(self._text, self._at)
            self._pass(space.end() if space else self._at)
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._grow(1):
                return ""

    def take(self, character: str) -> None:
        """Skip this character; raises if it is not next."""
        found = self.peek()
        if not found:
            raise _UnexpectedEnd
        if found != character:
            raise _BrokenValue(f"{character!r} expected instead of {found!r}")
        self._pass(self._at + 1)

    def value(self) -> Json:
        """Return the next value, read whole."""
        while True:
            if not self.peek():
                raise _UnexpectedEnd
            ahead = len(self._text) - self._at
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
            except RecursionError as error:
                raise _BrokenValue(TOO_DEEP) from error
            except json.JSONDecodeError as error:
                # Doubling keeps the work proportional to the text, however large the value is.
                if self._near_the_end(error) and self._grow(2 * ahead):
                    continue
                raise (_UnexpectedEnd() if self._at_the_end(error) else _BrokenValue(error.msg)) from error
            except ValueError as error:  # an integer of thousands of digits
                raise _BrokenValue(str(error)) from error
            if isinstance(value, int | float) and end >= len(self._text) - 2 and self._grow(2 * ahead):
                continue  # a number may go on in the next piece: 1 of 12, 1 of 1e+5
            if is_deeper(value, DEEPEST_LINE):
                raise _BrokenValue(TOO_DEEP)
            self._pass(end)
            return value

    def _near_the_end(self, error: json.JSONDecodeError) -> bool:
        return error.msg.startswith("Unterminated") or error.pos >= len(self._text) - _NEAR_THE_END

    def _at_the_end(self, error: json.JSONDecodeError) -> bool:
        """Return True if the text ends in the middle of the value, rather than being wrong."""
        rest = self._text[error.pos :].strip()
        if error.msg.startswith("Unterminated"):
            return True
        if error.msg.startswith("Invalid \\"):
            return '"' not in rest
        return any(word.startswith(rest) for word in ("true", "false", "null"))

    def skip(self) -> None:
        """Skip an invalid value, up to the comma or bracket that ends it."""
        depth, at = 0, self._at
        while True:
            found = _STRUCTURE.search(self._text, at)
            if not found or (found[0][0] == '"' and not found[1]):
                done = (found.start() if found else len(self._text)) - self._at
                if not self._grow(2 * (len(self._text) - self._at) + 1):
                    raise _UnexpectedEnd
                at = self._at + done
                continue
            at = found.end()
            if found[0] in "]},":
                if depth == 0:
                    self._pass(found.start())
                    return
                depth -= found[0] != ","
            elif found[0] in "[{":
                depth += 1


def _elements(window: _TextWindow) -> Iterator[StreamElement | Problem]:
    """Yield the elements of the array that opens here. Raises if the array itself is incomplete."""
    window.take("[")
    number = 0
    while window.peek() != "]":
        if number:
            window.take(",")
        number += 1
        window.peek()
        line = window.line
        try:
            yield StreamElement(number, window.value(), line)
        except _BrokenValue as error:
            yield Problem(f"element {number} is not valid JSON and was skipped: {error}", line)
            window.skip()
    window.take("]")


def _members(window: _TextWindow, arrays: tuple[str, ...]) -> Iterator[Piece]:
    window.take("{")
    first = True
    while window.peek() != "}":
        if not first:
            window.take(",")
        first = False
        if window.peek() != '"':
            raise _UnexpectedEnd if not window.peek() else _BrokenValue("a key in quotes expected")
        line = window.line
        key = window.value()
        window.take(":")
        if key in arrays and window.peek() == "[":
            yield from _elements(window)
            continue
        try:
            yield Member(key, window.value(), line)
        except _BrokenValue as error:
            yield Problem(f"the value of {key!r} is not valid JSON and was skipped: {error}", line)
            window.skip()
    window.take("}")


def pieces(source: Source, *arrays: str) -> Iterator[Piece]:
    """Yield the elements of the document where it is an array; where it is an object, its members, and instead of a member
    that is named in `arrays` the elements of its array.

    Raises FormatError if the text begins like neither.
    """
    return pieces_of(source.chunks(), source.name, *arrays)


def pieces_of(chunks: Iterator[str], name: str, *arrays: str) -> Iterator[Piece]:
    """Yield the same for text from any iterator."""
    window = _TextWindow(chunks)
    opening = window.peek()
    if opening not in ("[", "{"):
        what = f"begins with {opening!r}" if opening else "is empty"
        raise FormatError(
            f"{name} is not a JSON document: it {what}", hint="a JSON array or object is expected"
        )
    try:
        yield from _elements(window) if opening == "[" else _members(window, arrays)
    except _UnexpectedEnd:
        yield Problem("the file ends in the middle; what was whole before that was read", window.line)
        return
    except _BrokenValue as error:
        yield Problem(f"the file is broken here, and what follows could not be read: {error}", window.line)
        return
    if rest := window.peek():
        yield Problem(
            f"there is more after the end of the JSON document, beginning with {rest!r}", window.line
        )
