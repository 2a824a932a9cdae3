"""Crash-safe file operations of a restore.

Owns the file operations: writing beside and renaming, links, modes, creating and removing folders. Every operation is
announced to `tick` before it runs, so that tests can kill the process at each of them. Elsewhere: planning
(`workspace/snapshots/restore`), the journal (`workspace/snapshots/restore_journal`).
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path

from backscroll.workspace.files.open_flags import CLOEXEC, DIRECTORY, NOFOLLOW
from backscroll.workspace.files.safe_paths import (
    ABSENT,
    check_path,
    link_target,
    open_file,
    parent_of,
    status,
)
from backscroll.workspace.git.modes import Kind

Tick = Callable[[str], None]
_PIECE = 1 << 20
_LINKED = 16_000_000  # bytes from which a hard link replaces a copy, if the disk supports it


@dataclass(frozen=True, slots=True)
class FileState:
    """The state of a path: kind of file and content."""

    kind: Kind
    sha256: str
    mode: int = 0o644


def state_at(root_fd: int, path: str) -> FileState | None:
    """Return the current state of a path; None without a file. Folders do not count."""
    found = status(root_fd, path)
    if found is None or stat.S_ISDIR(found.st_mode):
        return None
    if stat.S_ISLNK(found.st_mode):
        return FileState("link", hashlib.sha256(link_target(root_fd, path)).hexdigest(), 0)
    if not stat.S_ISREG(found.st_mode):
        return FileState("file", "special", 0)
    hashed = hashlib.sha256()
    with os.fdopen(open_file(root_fd, path), "rb") as file:
        while piece := file.read(_PIECE):
            hashed.update(piece)
    mode = stat.S_IMODE(found.st_mode)
    return FileState("exec" if mode & stat.S_IXUSR else "file", hashed.hexdigest(), mode)


def same(one: FileState | None, other: FileState | None) -> bool:
    """Return True if two states are equal; only the executable bit of the mode counts."""
    return (one and (one.kind, one.sha256)) == (other and (other.kind, other.sha256))


def copy_out(root_fd: int, path: str, target: Path, tick: Tick) -> FileState | None:
    """Copy the file at a path elsewhere; return its state."""
    found = status(root_fd, path)
    if found is None or not (stat.S_ISREG(found.st_mode) or stat.S_ISLNK(found.st_mode)):
        return None
    tick(f"copy {path}")
    if stat.S_ISLNK(found.st_mode):
        data = link_target(root_fd, path)
        write_synced(target, data)
        return FileState("link", hashlib.sha256(data).hexdigest(), 0)
    if found.st_size >= _LINKED:
        with contextlib.suppress(OSError), parent_of(root_fd, path) as (fd, name):
            os.link(name, target, src_dir_fd=fd, follow_symlinks=False)
            return state_at(root_fd, path)
    hashed = hashlib.sha256()
    with os.fdopen(open_file(root_fd, path), "rb") as source, target.open("wb") as out:
        while piece := source.read(_PIECE):
            hashed.update(piece)
            out.write(piece)
        out.flush()
        os.fsync(out.fileno())
    mode = stat.S_IMODE(found.st_mode)
    return FileState("exec" if mode & stat.S_IXUSR else "file", hashed.hexdigest(), mode)


def put(root_fd: int, path: str, state: FileState, source: Path, tick: Tick, temporary: str) -> None:
    """Make the file at a path what `state` says, with the content of `source`. Raise `OSError` if something is in the way."""
    make_folders(root_fd, path, tick)
    with parent_of(root_fd, path) as (fd, name):
        with contextlib.suppress(FileNotFoundError):
            tick(f"clear {path}")
            os.unlink(temporary, dir_fd=fd)
        if state.kind == "link":
            tick(f"link {path}")
            os.symlink(source.read_bytes(), os.fsencode(temporary), dir_fd=fd)
        else:
            tick(f"write {path}")
            _write_beside(fd, temporary, state, source)
        _clear_folder(fd, name, tick)
        tick(f"rename {path}")
        os.rename(temporary, name, src_dir_fd=fd, dst_dir_fd=fd)
        os.fsync(fd)


def _write_beside(fd: int, temporary: str, state: FileState, source: Path) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | NOFOLLOW | CLOEXEC
    mode = state.mode or (0o755 if state.kind == "exec" else 0o644)
    opened = os.open(temporary, flags, 0o600, dir_fd=fd)
    with os.fdopen(opened, "wb") as out, source.open("rb") as content:
        while piece := content.read(_PIECE):
            out.write(piece)
        out.flush()
        os.fchmod(out.fileno(), mode)
        os.fsync(out.fileno())


def set_mode(root_fd: int, path: str, mode: int, tick: Tick) -> None:
    """Change only the executable bit of a file."""
    fd = open_file(root_fd, path)
    try:
        tick(f"mode {path}")
        os.fchmod(fd, mode)
    finally:
        os.close(fd)


def remove(root_fd: int, path: str, tick: Tick) -> None:
    """Delete a file, and the folders that it leaves empty."""
    try:
        with parent_of(root_fd, path) as (fd, name):
            tick(f"delete {path}")
            os.unlink(name, dir_fd=fd)
            os.fsync(fd)
    except OSError as error:
        if error.errno not in ABSENT:
            raise
    prune(root_fd, path, tick)


def prune(root_fd: int, path: str, tick: Tick) -> None:
    """Remove empty folders above a path."""
    folder = path.rpartition("/")[0]
    while folder:
        try:
            with parent_of(root_fd, folder) as (fd, name):
                tick(f"folder {folder}")
                os.rmdir(name, dir_fd=fd)
        except OSError as error:
            if error.errno not in ABSENT:
                return  # not empty, or not ours to remove
        folder = folder.rpartition("/")[0]


def make_folders(root_fd: int, path: str, tick: Tick) -> None:
    """Create the folders above a path."""
    parts = check_path(path).split("/")[:-1]
    with _walking(root_fd) as at:
        for part in parts:
            try:
                at.enter(part)
            except FileNotFoundError:
                tick(f"mkdir {part}")
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, dir_fd=at.fd)
                at.enter(part)


@dataclass(slots=True)
class _OpenFolder:
    """A place in a tree of folders, held open."""

    fd: int

    def enter(self, part: str) -> None:
        """Enter a folder; a link is not a folder."""
        inner = os.open(part, os.O_RDONLY | DIRECTORY | NOFOLLOW | CLOEXEC, dir_fd=self.fd)
        os.close(self.fd)
        self.fd = inner


@contextlib.contextmanager
def _walking(root_fd: int) -> Generator[_OpenFolder]:
    at = _OpenFolder(os.dup(root_fd))
    try:
        yield at
    finally:
        os.close(at.fd)


def _clear_folder(fd: int, name: str, tick: Tick) -> None:
    """Remove a folder in the way of a file, if it contains only empty folders."""
    try:
        inner = os.open(name, os.O_RDONLY | DIRECTORY | NOFOLLOW | CLOEXEC, dir_fd=fd)
    except OSError:
        return  # nothing there, or not a folder
    try:
        with os.scandir(inner) as entries:
            names = sorted(entry.name for entry in entries)
        for one in names:
            _clear_folder(inner, one, tick)
    finally:
        os.close(inner)
    tick(f"folder {name}")
    os.rmdir(name, dir_fd=fd)


def blocked_by(root_fd: int, path: str, going: set[str]) -> str:
    """Return what blocks a file at a path: a remaining file above or below it. Empty: nothing."""
    parts = path.split("/")
    for n in range(1, len(parts)):
        above = "/".join(parts[:n])
        found = status(root_fd, above)
        if found is not None and not stat.S_ISDIR(found.st_mode):
            return "" if above in going else above
    found = status(root_fd, path)
    if found is not None and stat.S_ISDIR(found.st_mode):
        return _staying_below(root_fd, path, going)
    return ""


def _staying_below(root_fd: int, folder: str, going: set[str]) -> str:
    with parent_of(root_fd, folder) as (fd, name):
        inner = os.open(name, os.O_RDONLY | DIRECTORY | NOFOLLOW | CLOEXEC, dir_fd=fd)
    try:
        with os.scandir(inner) as entries:
            listed = sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries)
    finally:
        os.close(inner)
    for name, is_folder in listed:
        path = f"{folder}/{name}"
        if name == ".git":
            return path
        staying = _staying_below(root_fd, path, going) if is_folder else ("" if path in going else path)
        if staying:
            return staying
    return ""


def write_synced(target: Path, data: bytes) -> None:
    """Write a file and sync its content; its name is durable once the folder is synced too."""
    with target.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def write_durably(target: Path, data: bytes) -> None:
    """Write a file atomically and durably."""
    temporary = target.with_name(target.name + ".tmp")
    write_synced(temporary, data)
    temporary.replace(target)
    sync_folder(target.parent)


def sync_folder(folder: Path) -> None:
    """Make names in a folder durable."""
    fd = os.open(folder, os.O_RDONLY | DIRECTORY | CLOEXEC)
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno != errno.EINVAL:  # file systems that cannot do it for folders
            raise
    finally:
        os.close(fd)
