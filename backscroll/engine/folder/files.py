"""Files and folders as the readers of `formats` need them: lazy, line by line, tolerant of invalid bytes.

Regular files only: a pipe or a device is rejected at once. A line over the length limit is never held in memory; its
placeholder states its length, and is not JSON.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from pathlib import Path

from backscroll.errors import FormatError, NotFound, StoreError
from backscroll.formats.shape import OverlongLine, Source
from backscroll.regular_files import is_special, open_regular

_CHUNK = 1 << 16
#: Files beside a SQLite store while it is open: the write-ahead log, its index, the queue of writers.
SIDE_FILES = ("-wal", "-shm", "-turns")
LONGEST_LINE = 1 << 25  # characters; reading a line takes about six times as many bytes of memory


def store_files(store: Path) -> list[Path]:
    """Return a store file and the files that may be beside it."""
    return [store, *(store.with_name(store.name + suffix) for suffix in SIDE_FILES)]


class FileSource:
    """A file or folder on disk. Every call starts from the beginning; nothing is kept in memory."""

    def __init__(
        self,
        path: Path,
        progress: Callable[[int, int | None, str], None] | None = None,
        longest: int = LONGEST_LINE,
    ) -> None:
        if not path.exists():
            raise NotFound(f"no such file or folder: {path}", hint="check the path")
        if is_special(path):
            raise FormatError(
                f"not a regular file: {path}",
                hint="save what comes out of a pipe or a device to a file first",
            )
        self._path = path
        self._progress = progress
        self._longest = longest

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self._path.name or str(self._path)

    @property
    def path(self) -> str:
        """The whole path."""
        return str(self._path)

    @property
    def is_folder(self) -> bool:
        """True for a folder."""
        return self._path.is_dir()

    @property
    def size(self) -> int:
        """The number of bytes in the file; 0 for a folder."""
        return 0 if self.is_folder else self._path.stat().st_size

    def chunks(self) -> Iterator[str]:
        """Yield decoded pieces; a BOM is removed; undecodable bytes become U+FFFD."""
        with self._open_file() as file:
            first = file.read(4)
            encoding = "utf-16" if first[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
            decoder = codecs.getincrementaldecoder(encoding)("replace")
            yield decoder.decode(first)
            while data := file.read(_CHUNK):
                if self._progress is not None:
                    self._progress(file.tell(), self.size, self.name)
                yield decoder.decode(data)
            yield decoder.decode(b"", final=True)

    def lines(self, ample: str = "") -> Iterator[tuple[int, str]]:
        """Yield numbered lines, split at line feeds only: other separators belong to the text.

        Lines that begin with `ample` may be eight times as long as the others: they hold bytes, which are not parsed.
        """
        rest: list[str] = []
        number = size = 0
        start = ""  # the first characters of the line, however the file is split into pieces
        for chunk in self.chunks():
            for place, piece in enumerate(chunk.split("\n")):
                if place:
                    number += 1
                    yield number, self._whole(rest, size, ample=bool(ample) and start == ample)
                    rest, size, start = [], 0, ""
                size += len(piece)
                start += piece[: len(ample) - len(start)]
                if size <= self._limit(ample=bool(ample) and start == ample):
                    rest.append(piece)
                else:
                    rest.clear()
        if size and (last := self._whole(rest, size, ample=bool(ample) and start == ample)):
            yield number + 1, last

    def _limit(self, *, ample: bool) -> int:
        return self._longest * (8 if ample else 1)

    def _whole(self, pieces: list[str], size: int, *, ample: bool) -> str:
        """Return a line joined from its pieces, or the placeholder of one that is too long."""
        longest = self._limit(ample=ample)
        return OverlongLine(size, longest) if size > longest else "".join(pieces).removesuffix("\r")

    def text(self) -> str:
        """Return the text of the whole file."""
        return "".join(self.chunks())

    def head(self, characters: int = 65536) -> str:
        """Return the first characters; empty for a folder."""
        if self.is_folder:
            return ""
        out: list[str] = []
        size = 0
        for chunk in self.chunks():
            out.append(chunk)
            size += len(chunk)
            if size >= characters:
                break
        return "".join(out)[:characters]

    def data(self, most: int = -1) -> bytes:
        """Return the raw bytes; at most `most`, unless that is negative."""
        with self._open_file() as file:
            return file.read(most)

    def child(self, name: str) -> Source | None:
        """Return a file inside this folder, or beside this file; never outside of it through an absolute path."""
        base = self._path if self.is_folder else self._path.parent
        relative = name.removeprefix("../") if not self.is_folder else name
        found = base / relative
        if Path(relative).is_absolute() or ".." in Path(relative).parts or not found.exists():
            return None
        return None if is_special(found) else FileSource(found, self._progress, self._longest)

    def children(self) -> tuple[str, ...]:
        """Return the names inside this folder, sorted."""
        return tuple(sorted(p.name for p in self._path.iterdir())) if self.is_folder else ()

    def _open_file(self):
        try:
            return open_regular(self._path)
        except OSError as error:
            raise StoreError(
                f"cannot read {self._path}: {error.strerror}", hint="check the permissions"
            ) from error
