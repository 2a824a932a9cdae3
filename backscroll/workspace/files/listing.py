"""List files: bounded, in a fixed order, without ignored ones.

Owns walking a folder level by level, folder by folder through open descriptors (a link is listed, never entered), reading the
ignore files on the way, and the facts of each entry. Reads no files, except a few bytes to tell whether one is text.
"""

from __future__ import annotations

import os
import stat
import tomllib
from collections import deque
from collections.abc import Generator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files as data_files

from backscroll.errors import BackscrollError, InvalidInput, NotFound
from backscroll.workspace.files.encoding import is_binary
from backscroll.workspace.files.files import Files
from backscroll.workspace.files.guard import escape_path
from backscroll.workspace.files.ignore import IgnoreFiles, PathSelection
from backscroll.workspace.files.open_flags import CLOEXEC, DIRECTORY, NOCTTY, NOFOLLOW, NONBLOCK
from backscroll.workspace.files.walk import kind_of

_FOLDER = os.O_RDONLY | DIRECTORY | NOFOLLOW | CLOEXEC
_PEEK = os.O_RDONLY | NOFOLLOW | NONBLOCK | NOCTTY | CLOEXEC
_LOOKED_AT = 200_000  # entries; a folder with more is cut, and says so
_DEEPEST = 60
_IGNORE_FILE = 500_000  # bytes


@dataclass(frozen=True, slots=True)
class ListingEntry:
    """One entry of a folder."""

    path: str
    kind: str  # file, folder, link, special
    size: int = 0
    target: str = ""  # of a link
    binary: bool = False
    executable: bool = False
    protected: bool = False  # exists, but tools must not read it

    @property
    def line(self) -> str:
        """The line of the entry in a list."""
        name = escape_path(self.path) + ("/" if self.kind == "folder" else "")
        marks = [
            f"-> {escape_path(self.target)}" if self.kind == "link" else "",
            "binary" if self.binary else "",
            "protected" if self.protected else "",
            "no plain file" if self.kind == "special" else "",
        ]
        size = f"{self.size} B" if self.kind == "file" else ""
        return "  ".join(part for part in (name, size, *marks) if part)


@dataclass(frozen=True, slots=True)
class Listing:
    """The entries of a folder and of those below it, in the order of their paths."""

    path: str
    entries: tuple[ListingEntry, ...]
    cut: bool = False  # there are more
    ignored: int = 0  # files and folders that were left out

    @property
    def text(self) -> str:
        """Return one line per entry."""
        return "\n".join(entry.line for entry in self.entries)


def list_files(
    files: Files,
    path: str = ".",
    *,
    depth: int | None = None,
    limit: int = 1000,
    pattern: str = "",
    everything: bool = False,
) -> Listing:
    """List a folder. `depth` 1: only what is in it. `pattern`: which files (`*.py`). `everything`: ignored files too."""
    if limit < 1 or (depth is not None and depth < 1):
        raise InvalidInput("a list needs room for one entry at least", hint="give 1 or more")
    real = files.resolve(path)
    kind = files.kind(real)
    if not kind:
        raise NotFound(
            f"no such folder: {escape_path(path)}", hint="look with list_files at the folder above", path=path
        )
    if kind != "folder":
        raise InvalidInput(f"{escape_path(path)} is not a folder", hint="read it with read_file", path=path)
    chosen, walk = PathSelection(pattern), FolderWalk(files, real, everything=everything, depth=depth)
    entries: list[ListingEntry] = []
    cut = False
    for entry in walk:
        if chosen and (entry.kind == "folder" or not chosen.takes(entry.path)):
            continue
        if len(entries) == limit:
            cut = True
            break
        entries.append(entry)
    ordered = sorted(entries, key=lambda entry: entry.path.split("/"))
    return Listing(real, tuple(_mark_binary(files, e) for e in ordered), cut or walk.cut, walk.ignored)


class FolderWalk:
    """Every entry below a folder, the nearest levels first, each level in order."""

    def __init__(
        self, files: Files, path: str = ".", *, everything: bool = False, depth: int | None = None
    ) -> None:
        self.files, self.path, self.everything = files, path, everything
        self.depth = min(depth or _DEEPEST, _DEEPEST)
        self.cut = False
        self.ignored = 0

    def __iter__(self) -> Generator[ListingEntry]:
        looked_at = 0
        waiting = deque([(self.path, 1, self._ignore_above())])
        while waiting:
            folder, level, ignore = waiting.popleft()
            found, ignore = self._read(folder, ignore)
            for entry in found:
                looked_at += 1
                if looked_at > _LOOKED_AT:
                    self.cut = True
                    return
                if self._left_out(entry, ignore):
                    self.ignored += 1
                    continue
                yield entry
                if entry.kind == "folder" and not entry.protected:
                    if level < self.depth:
                        waiting.append((entry.path, level + 1, ignore))
                    elif self.depth == _DEEPEST:
                        self.cut = True

    def _read(self, folder: str, ignore: IgnoreFiles) -> tuple[list[ListingEntry], IgnoreFiles]:
        """Read one folder; a vanished or unreadable one is empty."""
        try:
            with self.files.walker.at(folder) as spot:
                if spot.status is None or spot.name or spot.kind != "folder":
                    return [], ignore
                names = sorted(os.listdir(spot.folder))  # noqa: PTH208 - of an open folder
                if not self.everything and ".gitignore" in names:
                    ignore = ignore.with_file(folder, _ignore_text(spot.folder, ".gitignore"))
                prefix = "" if folder == "." else f"{folder}/"
                found = [self._entry(spot.folder, name, prefix + name) for name in names]
                return [entry for entry in found if entry is not None], ignore
        except BackscrollError:
            self.cut = True
            return [], ignore

    def _entry(self, folder: int, name: str, path: str) -> ListingEntry | None:
        with suppress(FileNotFoundError):
            status = os.lstat(name, dir_fd=folder)
            kind = kind_of(status)
            target = os.readlink(name, dir_fd=folder) if kind == "link" else ""
            hidden = bool(self.files.guard.why(path))
            executable = kind == "file" and bool(status.st_mode & stat.S_IXUSR)
            return ListingEntry(path, kind, status.st_size, target, False, executable, hidden)
        return None

    def _left_out(self, entry: ListingEntry, ignore: IgnoreFiles) -> bool:
        name = entry.path.rsplit("/", 1)[-1]
        if name.startswith(".bs-") and name.endswith(".part"):
            return True
        if self.everything:
            return name in _VERSIONS
        return name in _load_skipped() or ignore.ignores(entry.path, folder=entry.kind == "folder")

    def _ignore_above(self) -> IgnoreFiles:
        """Return the ignore files of the folders above, and of the repository itself."""
        ignore = IgnoreFiles()
        if self.everything:
            return ignore
        with suppress(OSError):
            ignore = ignore.with_file("", _repository_rules(str(self.files.root)))
        above = [] if self.path == "." else ["", *_parents(self.path)]
        for folder in above:
            with suppress(OSError, BackscrollError), self.files.walker.at(folder or ".") as spot:
                ignore = ignore.with_file(folder, _ignore_text(spot.folder, ".gitignore"))
        return ignore


_VERSIONS = {".git", ".hg", ".svn", ".bzr", ".jj"}


def _parents(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:n]) for n in range(1, len(parts))]


def _repository_rules(root: str) -> str:
    """Return the ignore file inside a repository's own folder, opened step by step like any other."""
    opened: list[int] = []
    try:
        opened.append(os.open(root, _FOLDER))
        for name in (".git", "info"):
            opened.append(os.open(name, _FOLDER, dir_fd=opened[-1]))
        return _ignore_text(opened[-1], "exclude")
    finally:
        for file in opened:
            os.close(file)


def _ignore_text(folder: int, name: str) -> str:
    return _start(folder, name, _IGNORE_FILE).decode("utf-8", "surrogateescape")


def _start(folder: int, name: str, size: int) -> bytes:
    """Return the first bytes of a plain file; empty for anything else."""
    if kind_of(os.lstat(name, dir_fd=folder)) != "file":
        return b""
    file = os.open(name, _PEEK, dir_fd=folder)
    try:
        return os.read(file, size) if kind_of(os.fstat(file)) == "file" else b""
    finally:
        os.close(file)


def _mark_binary(files: Files, entry: ListingEntry) -> ListingEntry:
    """Mark an entry that is not a text file."""
    if entry.kind != "file" or entry.protected or not entry.size:
        return entry
    with suppress(BackscrollError), files.walker.at(entry.path, follow=False) as spot:
        if is_binary(_start(spot.folder, spot.name, 1024)):
            return ListingEntry(entry.path, entry.kind, entry.size, "", True, entry.executable)
    return entry


@lru_cache(maxsize=1)
def _load_skipped() -> frozenset[str]:
    text = data_files("backscroll.workspace").joinpath("listing.toml").read_text(encoding="utf-8")
    return frozenset(tomllib.loads(text)["skipped"])
