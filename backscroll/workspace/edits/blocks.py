"""Parse search/replace blocks as models write them.

Owns the two usual spellings: `<<<<<<< SEARCH`, `=======`, `>>>>>>> REPLACE` and `------- SEARCH`, `=======`, `+++++++
REPLACE`. The file name precedes the block, or is that of an earlier one. Text with a line of seven `=` needs longer marks on
all three lines. The end of a block is never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from backscroll.errors import FormatError
from backscroll.workspace.edits.edit import TextReplacement
from backscroll.workspace.edits.fences import FENCE, name_in

_OPENS = re.compile(r"^\s{0,3}(<{5,}|-{5,}) ?SEARCH>?\s*$")
_HINT = "a block is: <<<<<<< SEARCH, the existing lines, =======, the new lines, >>>>>>> REPLACE"


def opens(line: str) -> bool:
    """Return True for the first line of a block."""
    return bool(_OPENS.match(line))


def read_block(lines: Sequence[str], at: int, known: str) -> tuple[TextReplacement, int]:
    """Return the block that opens at a line, and the line after it. `known` is the file of the previous block."""
    match = _OPENS.match(lines[at])
    assert match is not None
    mark = match.group(1)
    size = len(mark)
    closes = re.compile(rf"^\s{{0,3}}(?:>{{{size}}}|\+{{{size}}}) ?REPLACE>?\s*$")
    divides = re.compile(rf"^\s{{0,3}}={{{size}}}\s*$")
    end = next((n for n in range(at + 1, len(lines)) if closes.match(lines[n])), None)
    following = next((n for n in range(at + 1, len(lines)) if opens(lines[n])), None)
    if end is None or (following is not None and following < end):
        raise FormatError(f"the search/replace block at line {at + 1} has no end", hint=_HINT, line=at + 1)
    dividers = [n for n in range(at + 1, end) if divides.match(lines[n])]
    if not dividers:
        raise FormatError(
            f"the search/replace block at line {at + 1} has no =======", hint=_HINT, line=at + 1
        )
    if len(dividers) > 1:
        raise FormatError(
            f"the search/replace block at line {at + 1} has several lines of =======",
            hint="make all three markers the same length and longer than any in the text",
            line=at + 1,
        )
    path = _name(lines, at) or known
    if not path:
        raise FormatError(
            f"the search/replace block at line {at + 1} names no file",
            hint="write the path on the line before it",
            line=at + 1,
        )
    old, new = lines[at + 1 : dividers[0]], lines[dividers[0] + 1 : end]
    return TextReplacement(path, _join_lines(old), _join_lines(new), by_lines=True), end + 1


def _join_lines(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _name(lines: Sequence[str], at: int) -> str:
    """Return the file name before a block: on the last line that is neither empty nor a fence."""
    for n in range(at - 1, max(at - 5, -1), -1):
        line = lines[n]
        if fence := FENCE.match(line):
            if name := name_in(fence.group(2), info=True):
                return name
            continue
        if line.strip():
            return name_in(line)
    return ""
