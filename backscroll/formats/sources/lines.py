"""Numbered lines of a log, whether it is a file of lines or one JSON document with the lines as a list.

Owns: telling the two apart, and salvaging the complete lines of a truncated document. A file of lines is never held in
memory; a document is. Does not interpret lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from backscroll.errors import FormatError
from backscroll.formats.shape import Source
from backscroll.formats.sources.json_text import dumps, elements
from backscroll.formats.sources.rows import as_array, as_object, parse, parse_row
from backscroll.vocab.foreign import Problem
from backscroll.vocab.part import Json


@dataclass(frozen=True, slots=True)
class SourceLines:
    """The non-blank lines with their numbers; can be iterated repeatedly."""

    source: Source
    listed: tuple[str, ...] | None = None  # the lines of a document
    rest: Mapping[str, Json] | None = None  # its other keys
    trouble: Problem | None = None

    def __iter__(self) -> Iterator[tuple[int, str]]:
        numbered = self.source.lines() if self.listed is None else enumerate(self.listed, 1)
        return ((number, line) for number, line in numbered if line.strip())


def lines_of(source: Source, key: str) -> SourceLines:
    """Return the lines of a file, or of the list that a document has under this key."""
    head = source.head(4096).lstrip()
    if not head.startswith("{") or f'"{key}"' not in head:
        return SourceLines(source)
    first = next((line for _, line in source.lines() if line.strip()), "")
    row = parse_row(1, first)
    if not isinstance(row, Problem) and as_array(row.get(key)) is None:
        return SourceLines(source)  # a line that merely has such a key somewhere inside
    text = source.text()
    try:
        document = as_object(parse(text)) or {}
    except ValueError as error:
        return _salvage_lines(source, text, key, str(error))
    listed = as_array(document.get(key))
    if listed is None:
        return SourceLines(source)
    rest = {name: value for name, value in document.items() if name != key}
    return SourceLines(source, tuple(dumps(value) for value in listed), rest)


def _salvage_lines(source: Source, text: str, key: str, why: str) -> SourceLines:
    opening = text.find("[", text.index(f'"{key}"'))
    whole, cut = elements(text, opening) if opening >= 0 else ([], None)
    if not whole:
        raise FormatError(f"{source.name} is not valid JSON: {why}", hint="is the file complete?")
    trouble = Problem(f"the document breaks off here: {cut.what if cut else why}", cut.line if cut else None)
    return SourceLines(source, tuple(dumps(element.value) for element in whole), {}, trouble)
