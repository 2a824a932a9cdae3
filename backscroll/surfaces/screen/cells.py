"""The width of text on a screen, and cutting and wrapping it.

A Chinese character takes two cells, a combining mark none. Standard library only, because help pages are wrapped with it.
Refuses: colours (the text has none) and control characters (`plain.py` has removed them).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from unicodedata import category, east_asian_width

_STICKS = "\u200d\ufe0e\ufe0f"
_EMOJI_STYLE = "\ufe0f"
#: Characters that may not begin a line, and that may not end one (the rules of Chinese typesetting, shortened).
_NOT_FIRST = frozenset("。，、！？；：）》」』】〕”’…—～·,.!?;:)]}%")
_NOT_LAST = frozenset("（《「『【〔“‘([{")


@lru_cache(maxsize=4096)
def _cell(character: str) -> int:
    if east_asian_width(character) in "WF":
        return 2
    return 0 if category(character) in {"Mn", "Me", "Cf", "Cc"} else 1


def width(text: str) -> int:
    """Return the number of cells that a single-line text takes."""
    if text.isascii():
        return len(text)
    total = 0
    before = 0
    for character in text:
        if character == _EMOJI_STYLE and before == 1:
            total, before = total + 1, 2  # a narrow character displayed as an emoji
            continue
        before = _cell(character)
        total += before
    return total


def cut(text: str, room: int, mark: str = "…") -> str:
    """Return the beginning of a text that fits, with a mark if something was cut."""
    if width(text) <= room:
        return text
    left = room - width(mark)
    if left < 0:
        return ""
    end = used = 0
    for end, character in enumerate(text):  # noqa: B007 - the place where it stopped is the result
        used += _cell(character)
        if used > left and character not in _STICKS:
            break
    return text[:end].rstrip() + mark


def pad_text(text: str, room: int, *, right: bool = False) -> str:
    """Pad a text with spaces to a width."""
    fill = " " * max(0, room - width(text))
    return fill + text if right else text + fill


def wrap(text: str, room: int) -> Iterator[str]:
    """Wrap a text into lines that fit: cut at spaces and between Chinese characters, words whole wherever possible."""
    for line in text.split("\n"):
        if width(line) <= room:
            yield line
        else:
            yield from _wrap_line(line, max(room, 8))


def _wrap_line(line: str, room: int) -> Iterator[str]:
    indent = line[: len(line) - len(line.lstrip(" "))]
    if len(indent) > room // 2:
        indent = ""
    current, used = "", 0
    for whole in _pieces(line):
        piece = whole
        if current.strip() and used + width(piece.rstrip(" ")) > room:
            yield current.rstrip(" ")
            current, used, piece = indent, len(indent), piece.lstrip(" ")
        while width(piece.rstrip(" ")) > room - used and piece.strip():  # one word longer than the line
            end = _fitting(piece, room - used)
            yield current + piece[:end]
            current, used, piece = indent, len(indent), piece[end:]
        current += piece
        used += width(piece)
    if current.strip():
        yield current.rstrip(" ")


def _fitting(text: str, room: int) -> int:
    used = 0
    for index, character in enumerate(text):
        used += _cell(character)
        if used > room and index:
            return index
    return len(text)


def _pieces(line: str) -> Iterator[str]:
    """Yield what must stay together: a word with the space after it, a Chinese character with its punctuation."""
    start = 0
    for index in range(1, len(line)):
        before, here = line[index - 1], line[index]
        if here in _STICKS or before == "\u200d" or here == " ":
            continue
        wide = _cell(before) == 2 or _cell(here) == 2
        if here in _NOT_FIRST or before in _NOT_LAST:
            if before != " ":
                continue
        elif not wide and before != " ":
            continue
        yield line[start:index]
        start = index
    yield line[start:]
