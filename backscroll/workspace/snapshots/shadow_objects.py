"""Read and write git objects of our own repository without starting git.

Owns contents and trees as git stores them: one compressed file each, named by its hash. Comparison is git's work
(`workspace/snapshots/shadow`). Writing them here means that a file is read once, without following links and without filters
or line end conversion, and that processes never wait for each other: an object is written atomically under its own name.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
import time
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from backscroll.workspace.git.git import GitFailed, run_git
from backscroll.workspace.git.modes import MODES
from backscroll.workspace.snapshots.scan import Hasher
from backscroll.workspace.snapshots.snapshots import SnapshotFile

TEMPORARY = "tmp_obj_"  # git's own prefix for temporary objects
_STALE = 86_400.0  # seconds


@dataclass(slots=True)
class Objects:
    """The objects of one bare repository."""

    folder: Path  # the repository
    written: set[str] = field(default_factory=set[str])

    def put(self, data: bytes) -> str:
        """Keep a content; return its hash."""
        return self._put(b"blob", data)

    def name(self, data: bytes) -> str:
        """Return the hash of a content."""
        return _sha1(b"blob %d\0" % len(data), data).hexdigest()

    def hasher(self, size: int) -> Hasher:
        """Return a hasher for the same hash piece by piece."""
        return _sha1(b"blob %d\0" % size)

    def put_tree(self, entries: Mapping[str, tuple[bytes, str]]) -> str:
        """Keep a tree of paths, each with its mode and hash; return the hash of the whole."""
        folders: dict[str, dict[bytes, tuple[bytes, str]]] = {"": {}}
        for path, (mode, name) in entries.items():
            folder, _, last = path.rpartition("/")
            _folder(folders, folder)[os.fsencode(last)] = (mode, name)
        # Deepest first, so that a folder's hash is known when its parent is written.
        for folder in sorted(folders, key=lambda one: one.count("/") + bool(one), reverse=True):
            if folder:
                above, _, last = folder.rpartition("/")
                folders[above][os.fsencode(last)] = (b"40000", self.put_folder(folders[folder]))
        return self.put_folder(folders[""])

    def put_folder(self, entries: Mapping[bytes, tuple[bytes, str]]) -> str:
        """Keep one folder; return its hash."""
        # Git sorts a folder as if its name ended with a slash.
        ordered = sorted(entries.items(), key=lambda one: one[0] + (b"/" if one[1][0] == b"40000" else b""))
        return self._put(
            b"tree",
            b"".join(b"%s %s\0%s" % (mode, key, bytes.fromhex(name)) for key, (mode, name) in ordered),
        )

    def _put(self, kind: bytes, data: bytes) -> str:
        header = b"%s %d\0" % (kind, len(data))
        name = _sha1(header, data).hexdigest()
        if name in self.written:
            return name
        target = self._place(name)
        if not (target.exists() and target.stat().st_size):
            write_whole(target, zlib.compress(header + data, 1))
        self.written.add(name)
        return name

    def _place(self, name: str) -> Path:
        return self.folder / "objects" / name[:2] / name[2:]

    def read(self, name: str) -> bytes | None:
        """Return a content by its hash; None if missing or damaged."""
        try:
            whole = zlib.decompress(self._place(name).read_bytes())
        except (OSError, zlib.error):
            return self._read_packed(name)
        header, _, data = whole.partition(b"\0")
        if not header.startswith(b"blob ") or _sha1(whole).hexdigest() != name:
            return self._read_packed(name)
        return data

    def _read_packed(self, name: str) -> bytes | None:
        try:
            ran = run_git(["cat-file", "blob", name], cwd=self.folder, git_dir=self.folder, check=False)
        except GitFailed:
            return None
        return ran.out if ran.code == 0 else None

    def drop_damaged(self, name: str) -> None:
        """Remove an unreadable object, to make room for an intact copy."""
        self.written.discard(name)
        with contextlib.suppress(OSError):
            self._place(name).unlink()


def mode_of(entry: SnapshotFile) -> bytes:
    """Return git's mode of a file."""
    return MODES[entry.kind].encode()


def write_whole(target: Path, data: bytes) -> None:
    """Write a file atomically, even if two processes write it at once."""
    target.parent.mkdir(parents=True, exist_ok=True)
    fd, temporary = tempfile.mkstemp(dir=target.parent, prefix=TEMPORARY)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data)
        Path(temporary).replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(temporary).unlink()
        raise


def clear_stale(folder: Path) -> None:
    """Remove partial files of killed processes after a day."""
    oldest = time.time() - _STALE
    for path in sorted([*folder.rglob(f"{TEMPORARY}*"), *folder.parent.glob("new-*")]):
        with contextlib.suppress(OSError):
            if path.stat().st_mtime < oldest:
                shutil.rmtree(path) if path.is_dir() else path.unlink()


def _folder(folders: dict[str, dict[bytes, tuple[bytes, str]]], path: str) -> dict[bytes, tuple[bytes, str]]:
    """Return the folder at a path, created with its parents."""
    found = folders.get(path)
    if found is None:
        found = folders[path] = {}
        if path:
            _folder(folders, path.rpartition("/")[0])
    return found


def _sha1(*pieces: bytes) -> Hasher:
    made = hashlib.sha1(usedforsecurity=False)
    for piece in pieces:
        made.update(piece)
    return made
