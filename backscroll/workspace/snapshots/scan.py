"""Scan a folder: every file that counts, with the hash of its content.

Owns the walk, the ignore files on the way, what is read and what is only hashed, and the cache of earlier reads, so that an
unchanged folder is not read again. Contents are stored by a keeper through `Contents`. Links are not followed, `.git` is
never entered, the files of repositories inside the folder count as plain files.
"""

from __future__ import annotations

import hashlib
import os
import stat
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from backscroll.errors import InvalidInput, NotFound
from backscroll.workspace.files.open_flags import CLOEXEC, DIRECTORY, NOFOLLOW
from backscroll.workspace.files.patterns import IgnoreRules, matches, parse_rules, rules_of
from backscroll.workspace.files.safe_paths import ABSENT, link_target, open_file, opened_root, status
from backscroll.workspace.git.modes import Kind
from backscroll.workspace.snapshots.snapshots import SnapshotFile, Why

MOST_FILES = 100_000
MOST_BYTES = 8_000_000_000  # read in one scan; a whole home folder would take too long
_LARGEST_IGNORE_FILE = 1_000_000
_WHOLE_HASH = 64_000_000  # bytes; larger files are hashed in samples, with their modification time
_PIECE = 1 << 20
_SAMPLES = 64
_STEADY_NS = 2_000_000_000  # as coarse as the timestamps of any file system
_TRIES = 3
_DEEPEST = 200  # nested folders: anything deeper is an accident

#: The values compared to detect a change of a file.
Seen = tuple[int, int, int, int, int]


class Contents(Protocol):
    """A keeper's way of naming and storing contents."""

    def put(self, data: bytes) -> str:
        """Keep a content; return its hash."""
        ...

    def name(self, data: bytes) -> str:
        """Return the hash of a content without storing it."""
        ...

    def hasher(self, size: int) -> Hasher:
        """Return a hasher for a content too large for memory: the same hash, piece by piece."""
        ...


class Hasher(Protocol):
    """A hash object like those of `hashlib`."""

    def update(self, data: bytes, /) -> None:
        """Add a piece."""
        ...

    def hexdigest(self) -> str:
        """Return the hash of all pieces."""
        ...


@dataclass(frozen=True, slots=True)
class FileSelection:
    """Which files count."""

    ignored: IgnoreRules  # weakest: what is ignored unless an ignore file says otherwise
    secret: Callable[[str], bool]  # paths of which only a salted hash is kept
    key_files: IgnoreRules
    secret_version: str = ""  # changes with the secret patterns, which invalidates the cache
    above: tuple[
        tuple[str, IgnoreRules], ...
    ] = ()  # ignore files of folders above, with the way from there to here
    left_out: frozenset[str] = frozenset()  # paths of folders and files that are ours, not the user's


def no_paths() -> Iterable[str]:
    """Return no paths."""
    return ()


@dataclass(slots=True)
class FolderScanner:
    """Scans one folder repeatedly, reading only what changed."""

    root: Path
    counting: FileSelection
    contents: Contents
    salt: bytes
    largest: int
    forced: Callable[[], Iterable[str]] = no_paths  # what git tracks although it is ignored
    memory: dict[str, tuple[Seen, SnapshotFile]] = field(default_factory=dict[str, tuple[Seen, SnapshotFile]])
    #: Files whose content was erased and is not kept again until the user changes them: what is compared, and the mark.
    spared: dict[str, tuple[tuple[int, int, int], str]] = field(
        default_factory=dict[str, tuple[tuple[int, int, int], str]]
    )
    fresh: int = 0  # entries of the memory that are new since the user looked at this number
    _keep: bool = True
    _one_at_a_time: threading.Lock = field(default_factory=threading.Lock)

    def look(self, *, keep: bool = True) -> dict[str, SnapshotFile]:
        """Return every file that counts, in the order of the paths. With `keep` their contents are stored."""
        with self._one_at_a_time:
            return self._look(keep)

    def _look(self, keep: bool) -> dict[str, SnapshotFile]:
        started = time.time_ns()
        self._keep = keep
        found: dict[str, SnapshotFile] = {}
        memory: dict[str, tuple[Seen, SnapshotFile]] = {}
        try:
            with opened_root(self.root) as root_fd:
                listed = list(self._walk_all(root_fd))  # counted before anything is read
                self._check_size(listed)
                for path, seen in listed:
                    entry = self._entry(root_fd, path, seen, started, memory)
                    if entry is not None:
                        found[path] = entry
        except OSError as error:
            raise NotFound(
                f"the folder cannot be read: {self.root}: {error.strerror}",
                hint="check that it still exists",
                path=str(self.root),
            ) from error
        if keep:
            self.fresh += sum(1 for path in memory if path not in self.memory)
            self.memory = memory
        return dict(sorted(found.items()))

    def _check_size(self, listed: Iterable[tuple[str, os.stat_result]]) -> None:
        """Raise if a scan would read more than a user would wait for."""
        known = self.memory
        new = sum(
            min(seen.st_size, _WHOLE_HASH)
            for path, seen in listed
            if path not in known or known[path][0] != _pack_stat(seen)
        )
        if new > MOST_BYTES:
            raise InvalidInput(
                f"more than {MOST_BYTES} bytes in {self.root}",
                hint="name the files that count in the setting workspace_key_files, or add an ignore file",
            )

    def ignores(self, path: str) -> bool:
        """Return True for a path that a scan would skip even if a file existed there."""
        parts = path.split("/")
        if any(part in {"", ".", "..", ".git"} for part in parts):
            return True
        if path in self.forced():
            return not self._counts(path)
        levels = [*self.counting.above]
        with opened_root(self.root) as root_fd:
            for n, part in enumerate(parts):
                prefix = "/".join(parts[:n]) + ("/" if n else "")
                levels = _with_ignore_file(root_fd, prefix, levels)
                last = n == len(parts) - 1
                if self._is_ignored(prefix, part, folder=not last, levels=levels):
                    return True
        return not self._counts(path)

    def _walk_all(self, root_fd: int) -> Iterator[tuple[str, os.stat_result]]:
        walked: set[str] = set()
        forced = set(self.forced())
        for count, (path, seen) in enumerate(self._walk(root_fd, "", [*self.counting.above])):
            if forced:
                walked.add(path)
            if count >= MOST_FILES:
                raise InvalidInput(
                    f"more than {MOST_FILES} files in {self.root}",
                    hint="name the files that count in the setting workspace_key_files, or add an ignore file",
                )
            yield path, seen
        for path in sorted(forced - walked):
            if self._counts(path) and (seen := status(root_fd, path)) is not None:
                yield path, seen

    def _walk(
        self, folder_fd: int, prefix: str, levels: list[tuple[str, IgnoreRules]]
    ) -> Iterator[tuple[str, os.stat_result]]:
        try:
            with os.scandir(folder_fd) as entries:
                here = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            return  # a folder that may not be read, or is gone, has no files that can be listed
        if any(entry.name == ".gitignore" for entry in here):
            levels = _with_ignore_file(folder_fd, prefix, levels, relative="")
        for entry in here:
            name = entry.name
            if name == ".git":
                continue
            try:
                seen = entry.stat(follow_symlinks=False)
            except OSError:
                continue  # gone between listing and scan
            folder = stat.S_ISDIR(seen.st_mode)
            if not folder and not stat.S_ISREG(seen.st_mode) and not stat.S_ISLNK(seen.st_mode):
                continue
            if self._is_ignored(prefix, name, folder=folder, levels=levels):
                continue
            path = prefix + name
            if not folder:
                if self._counts(path):
                    yield path, seen
                continue
            if prefix.count("/") >= _DEEPEST:
                continue
            try:
                inner = os.open(name, os.O_RDONLY | DIRECTORY | NOFOLLOW | CLOEXEC, dir_fd=folder_fd)
            except OSError:
                continue
            try:
                yield from self._walk(inner, path + "/", levels)
            finally:
                os.close(inner)

    def _is_ignored(
        self, prefix: str, name: str, *, folder: bool, levels: list[tuple[str, IgnoreRules]]
    ) -> bool:
        path = prefix + name
        if path in self.counting.left_out:
            return True
        if folder:
            name += "/"
            path += "/"
        for base, rules in reversed(levels):
            # A level of our own folder is named by where it is; one above by the way from there to here, after `^`.
            inner = base[1:] + path if base.startswith("^") else path[len(base) :]
            said = rules.verdict(inner, name)
            if said is not None:
                return said
        return bool(self.counting.ignored.verdict(path, name))

    def _counts(self, path: str) -> bool:
        return not self.counting.key_files or matches(self.counting.key_files, path)

    def _entry(
        self,
        root_fd: int,
        path: str,
        found: os.stat_result,
        started: int,
        memory: dict[str, tuple[Seen, SnapshotFile]],
    ) -> SnapshotFile | None:
        seen = _pack_stat(found)
        spared = self.spared.get(path)
        if spared is not None and spared[0] == stamp_content(found):
            return SnapshotFile(
                spared[1], "link" if stat.S_ISLNK(found.st_mode) else _kind(found), 0, "erased"
            )
        known = self.memory.get(path)
        if known is not None and known[0] == seen:
            memory[path] = known
            return known[1]
        try:
            entry, seen_now = self._read(root_fd, path, found)
        except OSError as error:
            if error.errno in ABSENT:
                return None  # gone meanwhile
            return SnapshotFile(
                _digest(b"unreadable", self.salt, repr(seen).encode()),
                _kind(found),
                found.st_size,
                "unreadable",
            )
        # A recently changed file may change again without a new timestamp: read it again next time.
        if max(found.st_mtime_ns, found.st_ctime_ns) < started - _STEADY_NS and seen_now == seen:
            memory[path] = (seen, entry)
        return entry

    def _read(self, root_fd: int, path: str, found: os.stat_result) -> tuple[SnapshotFile, Seen]:
        if stat.S_ISLNK(found.st_mode):
            target = link_target(root_fd, path)
            return SnapshotFile(self._store(target), "link", len(target)), _pack_stat(found)
        secret = self.counting.secret(path)
        for attempt in range(_TRIES):
            fd = open_file(root_fd, path)
            with os.fdopen(fd, "rb") as file:
                before = os.fstat(fd)
                if secret:
                    hashed = hashlib.sha256(b"secret" + self.salt)
                    self._feed(file.read, before.st_size, hashed)
                    entry = SnapshotFile(hashed.hexdigest(), _kind(before), before.st_size, "secret")
                elif before.st_size > self.largest:
                    entry = self._large(fd, before)
                else:
                    data = file.read(self.largest + 1)
                    if len(data) > self.largest:
                        continue  # grew while it was read
                    entry = SnapshotFile(self._store(data), _kind(before), len(data))
                after = os.fstat(fd)
            if _pack_stat(after) == _pack_stat(before) or attempt == _TRIES - 1:
                return entry, _pack_stat(after) if _pack_stat(after) == _pack_stat(before) else (
                    -1,
                    0,
                    0,
                    0,
                    0,
                )
        return SnapshotFile(
            _digest(b"moving", self.salt, path.encode("utf-8", "surrogateescape")),
            "file",
            found.st_size,
            "unreadable",
        ), (-1, 0, 0, 0, 0)

    def _store(self, data: bytes) -> str:
        return self.contents.put(data) if self._keep else self.contents.name(data)

    def _large(self, fd: int, found: os.stat_result) -> SnapshotFile:
        why: Why = "large"
        if found.st_size <= _WHOLE_HASH:
            hashed = self.contents.hasher(found.st_size)
            os.lseek(fd, 0, os.SEEK_SET)
            self._feed(lambda n: os.read(fd, n), found.st_size, hashed)
            return SnapshotFile(hashed.hexdigest(), _kind(found), found.st_size, why)
        sampled = hashlib.sha256(f"sampled {found.st_size} {found.st_mtime_ns}".encode())
        for n in range(_SAMPLES):
            sampled.update(os.pread(fd, 1 << 16, (found.st_size - (1 << 16)) * n // (_SAMPLES - 1)))
        return SnapshotFile(sampled.hexdigest(), _kind(found), found.st_size, why)

    @staticmethod
    def _feed(read: Callable[[int], bytes], size: int, hashed: Hasher) -> None:
        """Feed at most `size` bytes: a growing file must not block us."""
        left = size
        while left > 0 and (piece := read(min(left, _PIECE))):
            hashed.update(piece)
            left -= len(piece)


def _with_ignore_file(
    fd: int, prefix: str, levels: list[tuple[str, IgnoreRules]], relative: str | None = None
) -> list[tuple[str, IgnoreRules]]:
    """Return the levels plus the ignore file of one more folder, if it has one. `fd` is that folder, or the root."""
    name = (prefix if relative is None else relative) + ".gitignore"
    text = _ignore_text(fd, name)
    rules = parse_rules(text) if text else None
    return [*levels, (prefix, rules)] if rules else levels


def _ignore_text(fd: int, path: str) -> str:
    try:
        opened = open_file(fd, path)
    except OSError:
        return ""  # git reads no ignore file that is a link, and none that it may not read
    with os.fdopen(opened, "rb") as file:
        return file.read(_LARGEST_IGNORE_FILE).decode("utf-8", "surrogateescape")


def ignore_files_above(root: Path, top: Path) -> list[tuple[str, IgnoreRules]]:
    """Return the ignore files of the folders from the top of the user's repository down to, not including, the root."""
    levels: list[tuple[str, IgnoreRules]] = []
    for folder in [*reversed(root.parents)]:
        if folder != top and top not in folder.parents:
            continue
        rules = rules_in(folder / ".gitignore")
        if rules:
            levels.append(("^" + root.relative_to(folder).as_posix() + "/", rules))
    return levels


def rules_in(path: Path) -> IgnoreRules:
    """Return the rules of an ignore file; none if it cannot be read."""
    try:
        data = path.read_bytes()[:_LARGEST_IGNORE_FILE]
    except OSError:
        return rules_of(())
    return parse_rules(data.decode("utf-8", "surrogateescape"))


def _kind(found: os.stat_result) -> Kind:
    return "exec" if found.st_mode & stat.S_IXUSR else "file"


def _pack_stat(found: os.stat_result) -> Seen:
    return (found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_mode)


def stamp_content(found: os.stat_result) -> tuple[int, int, int]:
    """Return the values that change only when a file is written, whatever its mode."""
    return found.st_size, found.st_mtime_ns, found.st_ino


def _digest(*pieces: bytes) -> str:
    return hashlib.sha256(b"\0".join(pieces)).hexdigest()
