"""Parse patches in the `*** Begin Patch` format.

Owns reading `*** Add File:`, `*** Update File:` (with `*** Move to:`) and `*** Delete File:`, whose hunks have no line
numbers but may name a line above. Placing them: `workspace/edits/match`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from backscroll.errors import FormatError
from backscroll.workspace.edits.edit import Edit, FileDeletion, Hunk, Patch, WholeFile

_FILE = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.+?)\s*$")
_MOVE = re.compile(r"^\*\*\* Move to: (.+?)\s*$")
_HINT = "*** Add File, *** Update File or *** Delete File names one, and *** End Patch ends it"


def begins(line: str) -> bool:
    """Return True for the first line of a patch."""
    return line.rstrip() == "*** Begin Patch"


def read_patch(lines: Sequence[str], at: int) -> tuple[list[Edit], int]:
    """Return the edits of the patch that begins at a line, and the line after it."""
    begin, edits = at, list[Edit]()
    at += 1
    while at < len(lines) and lines[at].rstrip() != "*** End Patch":
        if not lines[at].strip():
            at += 1
            continue
        match = _FILE.match(lines[at])
        if match is None:
            raise FormatError(f"the patch has no file at line {at + 1}", hint=_HINT, line=at + 1)
        kind, path = match.groups()
        at += 1
        if kind == "Delete":
            edits.append(FileDeletion(path))
        elif kind == "Add":
            body, at = _read_addition(lines, at)
            edits.append(WholeFile(path, body, new=True))
        else:
            patch, at = _read_update(lines, at, path)
            edits.append(patch)
    if at >= len(lines):
        raise FormatError(f"the patch at line {begin + 1} has no end", hint=_HINT, line=begin + 1)
    return edits, at + 1


def _read_addition(lines: Sequence[str], at: int) -> tuple[str, int]:
    body = list[str]()
    while at < len(lines) and lines[at].startswith("+"):
        body.append(f"{lines[at][1:]}\n")
        at += 1
    return "".join(body), at


def _read_update(lines: Sequence[str], at: int, path: str) -> tuple[Patch, int]:
    to = ""
    if at < len(lines) and (move := _MOVE.match(lines[at])):
        to = move.group(1)
        at += 1
    hunks = list[Hunk]()
    near, old, new = "", list[str](), list[str]()

    def close() -> None:
        if old != new:
            hunks.append(Hunk(tuple(old), tuple(new), numbered=False, near=near))
        old.clear()
        new.clear()

    while at < len(lines) and (not lines[at].startswith("*** ") or lines[at].startswith("*** End of File")):
        line = lines[at]
        at += 1
        if line.startswith("*** End of File"):
            continue
        if line.startswith("@@"):
            close()
            near = line.strip("@ ")
            continue
        mark, text = (line[0], line[1:]) if line[:1] in (" ", "+", "-") else (" ", line)
        if mark in " -":
            old.append(text)
        if mark in " +":
            new.append(text)
    close()
    return Patch(path, tuple(hunks), to), at
