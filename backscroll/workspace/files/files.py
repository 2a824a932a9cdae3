"""Safe files: all file access of an agent, confined to one folder.

Owns reading, writing, deleting and renaming under a root. A write is atomic and keeps mode, encoding, byte order mark and line ends;
another hard link keeps the old content. Rejects paths outside, protected files (`guard`), devices, pipes, swapped links (`walk`).
"""

from __future__ import annotations

import codecs
import hashlib
import os
import re
import secrets
import stat
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from backscroll.config import default_store
from backscroll.errors import Conflict, InvalidInput, NotFound
from backscroll.workspace.files.encoding import Newline, decode_text, encode_text, is_binary, with_newlines
from backscroll.workspace.files.guard import Guard, escape_path
from backscroll.workspace.files.open_flags import CLOEXEC, NOCTTY, NOFOLLOW, NONBLOCK
from backscroll.workspace.files.replacement import put
from backscroll.workspace.files.walk import OpenPath, Walker, check_new, kind_of

_READ = os.O_RDONLY | NOFOLLOW | NONBLOCK | NOCTTY | CLOEXEC
_PIECE = 1 << 20
_AFTER_FEED = re.compile(rb"(?<=\n)")
LARGEST = 10_000_000  # bytes read or written at once


@dataclass(frozen=True, slots=True)
class FileText:
    """Text of a file, or some lines of it."""

    path: str
    text: str  # a plain newline after every line, whatever the file has
    hash: str  # of the whole file: pass it to `write` as `expected`
    size: int  # bytes of the whole file
    first: int  # line this begins with, from 1
    last: int  # line this ends with; smaller than `first` if empty
    lines: int  # of the whole file
    encoding: str = "utf-8"
    newline: Newline = "\n"
    guessed: bool = False  # the encoding is a guess
    executable: bool = False

    @property
    def numbered(self) -> str:
        """Every line with its number in front."""
        shown_lines = self.text.split("\n")
        if self.text.endswith("\n") or not self.text:
            shown_lines = shown_lines[:-1]
        width = len(str(max(self.last, 1)))
        return "\n".join(f"{n:>{width}} | {line}" for n, line in enumerate(shown_lines, self.first))


@dataclass(frozen=True, slots=True)
class FileWrite:
    """The result of a write."""

    path: str
    hash: str
    created: bool
    made: tuple[str, ...] = ()  # folders, outermost first


@dataclass(frozen=True, slots=True)
class FileContent:
    """The whole content of a file, with hash and mode."""

    path: str
    data: bytes
    hash: str
    mode: int


class Files:
    """The files of one folder.

    `protected`: additional protected patterns and paths; `allowed_outside`: other folders that may be used with absolute
    paths; `journal`: the folder for journals of unfinished edits (outside this one).
    """

    def __init__(
        self,
        root: Path,
        *,
        protected: Sequence[str] = (),
        allowed_outside: Sequence[Path] = (),
        largest: int = LARGEST,
        journal: Path | None = None,
    ) -> None:
        if not root.is_dir():
            raise NotFound(f"no such folder: {escape_path(str(root))}", hint="name a folder that exists")
        self.root = root.resolve()
        self.largest = largest
        name = hashlib.sha256(os.fsencode(self.root)).hexdigest()[:16]
        self.journal = journal or default_store().parent / "edits" / name
        self.guard = Guard(self.root, [*protected, str(self.journal)])
        self.walker = Walker(root, self.guard, allowed_outside)

    def resolve(self, path: str | Path) -> str:
        """Return the normal form of a path inside the folder (links followed). Raises `InvalidInput`."""
        with self.walker.at(path) as spot:
            return spot.path

    def kind(self, path: str | Path) -> str:
        """Return `file`, `folder`, `link` or `special`; empty if nothing exists. A link as the last part is not followed."""
        with self.walker.at(path, follow=False) as spot:
            return spot.kind

    def exists(self, path: str | Path) -> bool:
        """Return True if something exists at a path."""
        with self.walker.at(path) as spot:
            return spot.status is not None

    def hash(self, path: str | Path) -> str:
        """Return the SHA-256 of the content; empty without a file."""
        with self.walker.at(path) as spot:
            if spot.status is None:
                return ""
            _check_file(spot)
            with _open_file(spot) as file:
                return _hash_of(file)

    def read_bytes(self, path: str | Path) -> bytes:
        """Return the whole content."""
        return self.content(path).data

    def content(self, path: str | Path) -> FileContent:
        """Return the whole content with its hash and mode."""
        with self.walker.at(path) as spot:
            found = self._content(spot)
        if found is None:
            raise NotFound(
                f"no such file: {escape_path(str(path))}", hint="look with list_files", path=str(path)
            )
        return found

    def read_text(self, path: str | Path, first: int = 1, last: int | None = None) -> FileText:
        """Return text, or the lines from `first` to `last` (both included; a negative `first` counts from the end)."""
        if first == 0 or (last is not None and last < 1):
            raise InvalidInput(
                "lines are counted from 1", hint="leave `first` and `last` out for all of them"
            )
        with self.walker.at(path) as spot:
            _check_file(spot)
            with _open_file(spot) as file:
                status = os.fstat(file)
                if status.st_size > self.largest:
                    if first == 1 and last is None:
                        self._too_large(spot, status.st_size, "read some lines of it: first, last")
                    return self._part(spot, file, first, last)
                data = _all(file, self.largest)
        text = decode_text(data)
        if text is None:
            self._binary(spot, len(data))
        lines = text.text.split("\n")
        total = len(lines) - (lines[-1] == "")
        begin, end = _range(first, last, total)
        body = "\n".join(lines[begin - 1 : end])
        if end < len(lines) and end >= begin:
            body += "\n"
        return FileText(
            spot.path,
            body,
            hashlib.sha256(data).hexdigest(),
            len(data),
            begin,
            end,
            total,
            text.encoding,
            text.newline,
            text.guessed,
            bool(status.st_mode & 0o100),
        )

    def write(
        self,
        path: str | Path,
        content: str | bytes,
        *,
        expected: str | None = None,
        mode: int | None = None,
        beside: str = "",
    ) -> FileWrite:
        """Write a file atomically, creating its folders.

        Text takes over encoding, byte order mark and line ends of the file. `expected`: hash of what is replaced, or empty for a new
        file. `mode`: permission bits, default those of the file. `beside`: temporary name of the new content.
        """
        with self.walker.at(path, make=True) as spot:
            if spot.kind in ("folder", "special") or not spot.name:
                _check_file(spot)
            check_new(spot)
            now = self._check_replaced(spot, expected, content)
            data = content if isinstance(content, bytes) else _like(content, now.data if now else None)
            if len(data) > self.largest:
                self._too_large(spot, len(data), "write it in parts")
            put(spot, data, mode, beside or f".bs-{secrets.token_hex(8)}.part")
            return FileWrite(spot.path, hashlib.sha256(data).hexdigest(), spot.status is None, spot.made)

    def delete(self, path: str | Path, *, expected: str | None = None) -> str:
        """Delete a file, or a link itself; return its normal path. Folders are not deleted as a whole."""
        with self.walker.at(path, follow=False) as spot:
            if spot.kind != "link":
                _check_file(spot)
                self._check_replaced(spot, expected, b"")
            os.unlink(spot.name, dir_fd=spot.folder)
            os.fsync(spot.folder)
            return spot.path

    def rename(self, old: str | Path, new: str | Path, *, expected: str | None = None) -> FileWrite:
        """Rename a file (or a link itself) to a free name; creates its folders."""
        with self.walker.at(old, follow=False) as here, self.walker.at(new, follow=False, make=True) as there:
            if here.kind == "folder":
                raise InvalidInput(
                    f"{escape_path(here.path)} is a folder",
                    hint="rename its files one by one, or with a command",
                )
            if here.kind != "link":
                _check_file(here)
                self._check_replaced(here, expected, b"")
            check_new(there)
            if there.status is not None:
                raise Conflict(f"{escape_path(there.path)} already exists", hint="nothing was changed")
            os.rename(here.name, there.name, src_dir_fd=here.folder, dst_dir_fd=there.folder)
            os.fsync(there.folder)
            os.fsync(here.folder)
            return FileWrite(there.path, "", True, there.made)

    def remove_folder(self, path: str | Path) -> bool:
        """Remove a folder if it is empty; return whether it was."""
        self.guard.check(str(path))
        with self.walker.at(Path(path).parent) as spot:
            if spot.kind != "folder":
                return False
            with suppress(OSError):  # not empty, or gone
                os.rmdir(Path(path).name, dir_fd=spot.folder)
                return True
        return False

    def _content(self, spot: OpenPath) -> FileContent | None:
        if spot.status is None:
            return None
        _check_file(spot)
        with _open_file(spot) as file:
            status = os.fstat(file)
            if status.st_size > self.largest:
                self._too_large(spot, status.st_size, "only files up to the limit can be handled as a whole")
            data = _all(file, self.largest)
        return FileContent(spot.path, data, hashlib.sha256(data).hexdigest(), stat.S_IMODE(status.st_mode))

    def _check_replaced(
        self, spot: OpenPath, expected: str | None, content: str | bytes
    ) -> FileContent | None:
        """Return the content to be replaced, as far as needed; raises if it is not the expected one."""
        if spot.status is None:
            if expected:
                raise Conflict(
                    f"{escape_path(spot.path)} is gone", hint="read it again before writing", path=spot.path
                )
            return None
        if expected == "":
            raise Conflict(
                f"{escape_path(spot.path)} already exists", hint="read it before writing", path=spot.path
            )
        if not spot.status.st_mode & 0o222:
            raise InvalidInput(
                f"{escape_path(spot.path)} is read-only",
                hint="its permissions forbid writing",
                path=spot.path,
            )
        if expected is None and isinstance(content, bytes):
            return None
        if expected is None and spot.status.st_size > self.largest:
            return None  # too large to check its line ends
        found = self._content(spot)
        if expected is not None and (found is None or found.hash != expected):
            raise Conflict(
                f"{escape_path(spot.path)} was changed since it was read",
                hint="nothing was written; read it again",
                path=spot.path,
            )
        return found

    def _part(self, spot: OpenPath, file: int, first: int, last: int | None) -> FileText:
        """Return some lines of a file that is too large to read as a whole."""
        if first < 0:
            self._too_large(spot, os.fstat(file).st_size, "count the lines from the beginning")
        digest, number, kept, pieces, start = hashlib.sha256(), 1, 0, list[bytes](), b""
        ends_open = False
        while piece := os.read(file, _PIECE):
            digest.update(piece)
            start = start or piece
            for line in filter(None, _AFTER_FEED.split(piece)):
                if first <= number <= (last or number):
                    kept += len(line)
                    if kept > self.largest:
                        self._too_large(spot, kept, "read fewer lines")
                    pieces.append(line)
                number += line.endswith(b"\n")
                ends_open = not line.endswith(b"\n")
        if is_binary(start[:8192]):
            self._binary(spot, os.fstat(file).st_size)
        if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):  # its lines do not end in one byte
            self._too_large(
                spot, os.fstat(file).st_size, "only files up to the limit can be handled as a whole"
            )
        total = number - (not ends_open)
        found = decode_text(b"".join(pieces))
        text = found.text if found else b"".join(pieces).decode("utf-8", "replace")
        begin, end = _range(first, last, total)
        size = os.fstat(file).st_size
        return FileText(
            spot.path, text, digest.hexdigest(), size, begin, end, total, found.encoding if found else "utf-8"
        )

    def _too_large(self, spot: OpenPath, size: int, hint: str) -> NoReturn:
        raise InvalidInput(
            f"{escape_path(spot.path)} is too large: {size} bytes, at most {self.largest}",
            hint=hint,
            path=spot.path,
        )

    def _binary(self, spot: OpenPath, size: int) -> NoReturn:
        raise InvalidInput(
            f"{escape_path(spot.path)} is not text ({size} bytes)",
            hint="only text can be read",
            path=spot.path,
        )


def _check_file(spot: OpenPath) -> None:
    """Reject anything but a plain file: a pipe would block forever, opening a device may have effects."""
    if spot.kind == "file" and spot.name:
        return
    if spot.status is None:
        raise NotFound(f"no such file: {escape_path(spot.path)}", hint="look with list_files", path=spot.path)
    if spot.kind == "folder":
        raise InvalidInput(
            f"{escape_path(spot.path)} is a folder", hint="list it with list_files", path=spot.path
        )
    raise InvalidInput(
        f"{escape_path(spot.path)} is not a regular file (a device, pipe or socket)",
        hint="only regular files can be read and written",
        path=spot.path,
    )


@contextmanager
def _open_file(spot: OpenPath) -> Generator[int]:
    """Open a file for reading and check it again, because it may have been swapped."""
    file = os.open(spot.name, _READ, dir_fd=spot.folder)
    try:
        if kind_of(os.fstat(file)) != "file":
            raise Conflict(
                f"{escape_path(spot.path)} was modified by another process at the same time",
                hint="nothing was written; read it again",
            )
        yield file
    finally:
        os.close(file)


def _all(file: int, largest: int) -> bytes:
    """Read everything up to the limit; the file may be growing."""
    pieces, size = list[bytes](), 0
    while size <= largest and (piece := os.read(file, _PIECE)):
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces)


def _hash_of(file: int) -> str:
    digest = hashlib.sha256()
    while piece := os.read(file, _PIECE):
        digest.update(piece)
    return digest.hexdigest()


def _range(first: int, last: int | None, total: int) -> tuple[int, int]:
    begin = max(1, total + 1 + first) if first < 0 else first
    end = total if last is None else min(last, total)
    return begin, max(end, begin - 1)


def _like(text: str, before: bytes | None) -> bytes:
    """Return new text in the encoding and with the line ends of the old content."""
    style = decode_text(before) if before else None
    if style is None:
        return encode_text(text, None)
    if "\r" not in text:
        text = with_newlines(text, style.newline)
    # A byte order mark in the new text is not written twice.
    return encode_text(text.removeprefix("\ufeff") if style.bom else text, style)
