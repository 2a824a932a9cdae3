"""The tool `read_file`: read lines of a file with their numbers, or an image.

Refuses: files outside the folder, protected ones and binary ones (`workspace/files/files` says why).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath

from backscroll.agent.person import Preview
from backscroll.agent.tool import ToolContext, ToolOutput
from backscroll.agent.toolbox import tool
from backscroll.agent.tools.files.folder import files_of
from backscroll.errors import InvalidInput
from backscroll.vocab.part import Json, Media
from backscroll.workspace.files.files import FileText

_LINES = 2_000  # lines shown at once
_CHARACTERS = 100_000  # characters shown at once
_WIDE = 2_000  # characters of one line
_PICTURE = 5_000_000  # bytes
_PICTURES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
}


def _preview(_context: ToolContext, arguments: Mapping[str, Json]) -> Preview:
    path = str(arguments["path"])
    return Preview(f"read: {path}", paths=(path,), subject=path)


@tool(effect="read", preview=_preview)
def read_file(context: ToolContext, path: str, first: int = 1, last: int | None = None) -> ToolOutput:
    """Read a text file of the working folder, each line with its number, or look at a picture (png, jpg, gif, webp).

    Use it before editing a file, and instead of `cat` or `sed`. Long files come in parts: at most 2000 lines at once, and it says
    where to read on.

    Args:
        path: The file, relative to the working folder.
        first: The first line to read, counted from 1; a negative number counts from the end.
        last: The last line to read; leave it out for as many as are shown at once.
    """
    files = files_of(context)
    kind = _PICTURES.get(PurePosixPath(path).suffix.lower())
    if kind is not None:
        return _picture(path, kind, files.read_bytes(path))
    size_first = 1 if first == 0 else first
    most = None if size_first < 0 else size_first + _LINES - 1
    read = files.read_text(path, size_first, most if last is None else min(last, most or last))
    return _render_file(read)


def _picture(path: str, kind: str, data: bytes) -> ToolOutput:
    if len(data) > _PICTURE:
        raise InvalidInput(
            f"{path} is too large to be looked at: {len(data):,} bytes",
            hint="make a smaller copy of it first",
        )
    text = f"{path}: {kind}, {len(data):,} bytes"
    return ToolOutput(text, line=text, media=(Media(kind, data=data, name=PurePosixPath(path).name),))


def _render_file(read: FileText) -> ToolOutput:
    if not read.lines:
        return ToolOutput(f"{read.path} is empty", line=f"{read.path}: empty")
    if read.last < read.first:
        return ToolOutput(
            f"{read.path} has {read.lines} lines; there is none from {read.first} on",
            line=f"{read.path}: no such lines",
        )
    rows: list[str] = []
    size = 0
    for row in read.numbered.split("\n"):
        cut = (
            row
            if len(row) <= _WIDE
            else f"{row[:_WIDE]} [… {len(row) - _WIDE:,} characters of this line left out]"
        )
        size += len(cut) + 1
        if size > _CHARACTERS and rows:
            break
        rows.append(cut)
    end = read.first + len(rows) - 1
    head = f"{read.path}, lines {read.first}–{end} of {read.lines}"
    if read.guessed or read.encoding not in ("utf-8", "ascii"):
        head += f", {read.encoding}{' (a guess)' if read.guessed else ''}"
    tail = f"\n[{read.lines - end:,} more lines: read on with first={end + 1}]" if end < read.lines else ""
    many = f"{len(rows)} lines" if len(rows) != 1 else "1 line"
    line = f"{read.path}: {many}" if len(rows) == read.lines else f"{head.replace(', lines', ':')}"
    return ToolOutput(
        f"{head}\n" + "\n".join(rows) + tail, line=line, facts={"path": read.path, "hash": read.hash}
    )
