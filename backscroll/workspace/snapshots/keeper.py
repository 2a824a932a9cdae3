"""The base of snapshot keepers: what the git and hash keepers share.

Owns the life cycle of a keeper: starting over, rescanning, caching lists of files, repairing damage. Storage of contents and
snapshots: (`workspace/snapshots/shadow`, `workspace/snapshots/hash_store`).
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Generic, Protocol, TypeVar

from backscroll.errors import NotFound, StoreError
from backscroll.logs import logger_of
from backscroll.vocab.change import FileChange
from backscroll.workspace.files.safe_paths import opened_root, status
from backscroll.workspace.snapshots.erasure import (
    SnapshotErasure,
    Spared,
    Tick,
    begin,
    read_spared,
    read_unfinished,
    silent,
    write_spared,
)
from backscroll.workspace.snapshots.home import KeeperHome
from backscroll.workspace.snapshots.scan import Contents, FolderScanner, stamp_content
from backscroll.workspace.snapshots.snapshots import FileTraces, SnapshotFile

_LOG = logger_of("workspace")

_REMEMBERED = 8  # snapshots whose lists of files stay in memory


class ReadableContents(Contents, Protocol):
    """Contents that can be read back."""

    written: set[str]  # contents known to be stored

    def read(self, name: str) -> bytes | None:
        """Return a content by its hash; None if missing or damaged."""
        ...


C = TypeVar("C", bound=ReadableContents)


class Keeper(ABC, Generic[C]):
    """A keeper of one folder. Several processes may use it at once: data is written atomically and never changes."""

    kind: ClassVar[str]  # `git` or `hashes`
    named: ClassVar[re.Pattern[str]]  # the form of its hashes

    def __init__(self, kept: KeeperHome, make_looker: Callable[[C, bytes], FolderScanner]) -> None:
        self._kept = kept
        self._make_looker = make_looker
        self._open()
        self._finish_erasing()

    def _open(self) -> None:
        place = self._kept.place
        self._prepare(place)
        self._kept.open()
        self._contents = self._contents_in(place)
        self._looker = self._make_looker(self._contents, self._kept.salt)
        self._kept.recall(self._looker)
        self._looker.spared = read_spared(self._kept.spared)
        self._last: tuple[dict[str, SnapshotFile], str] | None = None
        self._check_reply = False
        self._lists: dict[str, dict[str, SnapshotFile]] = {}

    # -- each keeper in its own way --------------------------------------------------------------------------

    @abstractmethod
    def _prepare(self, place: Path) -> None:
        """Set aside unusable data, and create what is missing."""

    @abstractmethod
    def _contents_in(self, place: Path) -> C:
        """Return the contents in a folder."""

    @abstractmethod
    def _write(self, entries: dict[str, SnapshotFile]) -> str:
        """Keep a snapshot of these files, whose contents are kept already; return its name."""

    @abstractmethod
    def _there(self, snapshot: str) -> bool:
        """Return True if a snapshot exists, by a quick check."""

    @abstractmethod
    def _missing(self, names: set[str]) -> set[str]:
        """Return those of the contents that are not kept."""

    @abstractmethod
    def _load(self, snapshot: str) -> dict[str, SnapshotFile]:
        """Return the files of a snapshot."""

    @abstractmethod
    def _drop_damaged(self, name: str) -> None:
        """Remove unreadable data: this content, and any other damage found on the way."""

    @abstractmethod
    def _find_held(self, paths: frozenset[str], names: frozenset[str]) -> FileTraces:
        """Return what all snapshots contain of some files, and of contents given by hash."""

    @abstractmethod
    def _rewrite(self, erasure: SnapshotErasure, tick: Tick) -> int:
        """Rewrite every snapshot that refers to erased contents; return how many."""

    @abstractmethod
    def _sweep(self, erasure: SnapshotErasure, tick: Tick) -> None:
        """Delete the contents themselves, wherever they are stored."""

    @abstractmethod
    def has(self, snapshot: str) -> bool:
        """Return True if this keeper still knows the snapshot."""

    @abstractmethod
    def compare(self, before: str, after: str) -> list[FileChange]:
        """Return what changed between two snapshots, renames found, in the order of the paths."""

    @abstractmethod
    def diff(self, before: str, after: str, paths: Sequence[str] = (), *, longest: int = 200_000) -> str:
        """Return the same as a unified diff; binary files are only named, and a long diff is cut with a note."""

    @abstractmethod
    def tidy(self) -> None:
        """Compact the storage; deletes nothing."""

    # -- looking ---------------------------------------------------------------------------------------------

    @property
    def root(self) -> Path:
        """The folder."""
        return self._looker.root

    @property
    def keeper(self) -> str:
        """`git` or `hashes`."""
        return self.kind

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the keeper for the user."""
        return tuple(self._kept.notes)

    def take(self) -> str:
        """Take a snapshot of the folder as it is now; return its name. The same content has the same name."""
        while True:
            self._finish_erasing()
            with self._kept.hold_lock(shared=True):
                if not self._kept.journal.exists():
                    return self._take()

    def _take(self) -> str:
        if not self._kept.begun:
            self._kept.notes.append(
                "the snapshots of this folder were deleted; starting over without the earlier ones"
            )
            self._open()
        elif not self._kept.current:  # another process erased something
            self._open()
        with self._translate_errors():
            if not self._check_reply:
                self._forget_missing()
            entries = self._looker.look()
            self._kept.remember(self._looker)
            if self._last is not None and self._last[0] == entries and self._there(self._last[1]):
                return self._last[1]
            name = self._write(entries)
        self._last = (entries, name)
        self._cache_entries(name, entries)
        _LOG.debug("took snapshot %s of %d files", name, len(entries))
        return name

    @contextmanager
    def _translate_errors(self) -> Generator[None]:
        """Turn errors of the disk into our errors."""
        try:
            yield
        except OSError as error:
            raise StoreError(
                f"snapshots cannot be kept in {self._kept.folder}: {error.strerror}",
                hint="check that the disk is not full and the folder is writable",
                path=str(self._kept.folder),
            ) from error

    def keep(self, data: bytes) -> str:
        """Store a content that may no longer be in any file; return its hash."""
        with self._translate_errors():
            return self._contents.put(data)

    def compose_snapshot(self, entries: Mapping[str, SnapshotFile]) -> str:
        """Compose a snapshot of files that never existed together; their contents must be kept. Return its name."""
        made = dict(sorted(entries.items()))
        with self._kept.hold_lock(shared=True), self._translate_errors():
            name = self._write(made)
        self._cache_entries(name, made)
        return name

    def _forget_missing(self) -> None:
        """Drop cache entries of earlier runs whose contents are no longer stored."""
        self._check_reply = True
        known = self._looker.memory
        gone = self._missing({entry.hash for _, entry in known.values() if entry.kept})
        if gone:
            self._looker.memory = {
                path: (seen, entry)
                for path, (seen, entry) in known.items()
                if not entry.kept or entry.hash not in gone
            }

    def _cache_entries(self, name: str, entries: dict[str, SnapshotFile]) -> dict[str, SnapshotFile]:
        while len(self._lists) >= _REMEMBERED:
            self._lists.pop(next(iter(self._lists)))
        self._lists[name] = entries
        return entries

    def now(self) -> dict[str, SnapshotFile]:
        """Return every file of the folder as it is now; nothing is kept."""
        return self._looker.look(keep=False)

    def ignores(self, path: str) -> bool:
        """Return True for a path that snapshots leave alone."""
        return self._looker.ignores(path)

    # -- reading back ----------------------------------------------------------------------------------------

    def holds(self, name: str) -> bool:
        """Return True if the content with this hash is kept by some snapshot."""
        return self.content(name) is not None

    def content(self, name: str) -> bytes | None:
        """Return a content by its hash; None if it is not kept."""
        return self._contents.read(name) if self.named.fullmatch(name) else None

    def name(self, data: bytes) -> str:
        """Return the hash that this keeper gives to a content."""
        return self._contents.name(data)

    def files(self, snapshot: str) -> dict[str, str]:
        """Return every path of a snapshot with the hash of its content."""
        return {path: entry.hash for path, entry in self.entries(snapshot).items()}

    def entries(self, snapshot: str) -> dict[str, SnapshotFile]:
        """Return every path of a snapshot, with what is known of it."""
        self._check_known(snapshot)
        found = self._lists.get(snapshot)
        if found is None:
            found = self._cache_entries(snapshot, self._load(snapshot))
        return dict(found)

    def read(self, snapshot: str, path: str) -> bytes | None:
        """Return the content of a file in a snapshot; None if the snapshot does not have it, or its content was not kept."""
        entry = self.entries(snapshot).get(path)
        if entry is None or not entry.kept:
            return None
        data = self._contents.read(entry.hash)
        if data is not None:
            return data
        self._repair(entry.hash)
        entry = self.entries(snapshot).get(path)
        return None if entry is None or not entry.kept else self._content(entry, path)

    def _content(self, entry: SnapshotFile, path: str) -> bytes:
        data = self._contents.read(entry.hash)
        if data is None:
            self._repair(entry.hash)
            data = self._contents.read(entry.hash)
        if data is None:
            raise StoreError(
                f"the content of {path} in this snapshot is damaged",
                hint="other snapshots may still be intact",
            )
        return data

    def _check_known(self, *names: str) -> None:
        for name in names:
            if not self.has(name):
                raise NotFound(
                    f"no snapshot {name} of {self.root}",
                    hint="it may have been dropped, or belongs to another folder",
                )

    def _repair(self, name: str = "") -> None:
        """Remove damaged data, and store it again if the folder still has it."""
        self._drop_damaged(name)
        self._contents.written.clear()
        self._looker.memory = {}
        self._lists.clear()
        self._last = None
        self.take()

    # -- letting go ------------------------------------------------------------------------------------------

    def find_held(self, paths: Collection[str], names: Collection[str] = ()) -> FileTraces:
        """Return what all snapshots contain of some files, and of contents given by hash."""
        nothing = self.name(b"")  # the empty content: reveals nothing, and many files have it
        wanted = frozenset(n for n in names if self.named.fullmatch(n) and n != nothing)
        found = self._find_held(frozenset(paths), wanted)
        now = {
            p for p, entry in self.now().items() if p in paths or (entry.kept and entry.hash in found.names)
        }
        return replace(found, present=tuple(sorted(now)))

    def erase(self, names: Collection[str], paths: Collection[str] = (), tick: Tick = silent) -> int:
        """Erase contents by their hashes from all snapshots, and the marks of files that were never kept; return how many changed.

        A file of the folder that has such a content now is not kept until the user changes it. Everything else stays.
        """
        with self._kept.hold_lock(), self._translate_errors():
            tick("journal")
            erasure = begin(self._kept.journal, names, paths)
            return self._erase(erasure, tick)

    def _finish_erasing(self) -> None:
        if self._kept.journal.exists():
            with self._kept.hold_lock(), self._translate_errors():
                erasure = read_unfinished(self._kept.journal)
                if erasure is not None:
                    self._erase(erasure, silent)

    def _erase(self, erasure: SnapshotErasure, tick: Tick) -> int:
        spared = self._collect_spared(erasure)
        tick("spared")
        write_spared(self._kept.spared, spared)
        tick("identity")
        self._kept.renew()
        count = self._rewrite(erasure, tick)
        tick("damaged")
        self._kept.drop_damaged()
        self._sweep(erasure, tick)
        tick("done")
        self._kept.journal.unlink(missing_ok=True)
        self._open()
        return count

    def _collect_spared(self, erasure: SnapshotErasure) -> Spared:
        """Return the files of the folder that are no longer kept, with those spared before."""
        with opened_root(self.root) as root_fd:
            out: Spared = {}
            for path, entry in self.now().items():
                found = status(root_fd, path)
                if found is None:
                    continue
                if entry.why == "erased":
                    out[path] = (stamp_content(found), entry.hash)
                elif erasure.takes(path, entry):
                    out[path] = (stamp_content(found), erasure.mark(entry.hash))
        return out

    def forget(self) -> None:
        """Drop every snapshot of this folder; the next one starts over."""
        self._kept.forget()
        self._open()
