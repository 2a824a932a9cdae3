"""Open paths inside a folder without following links.

Owns opening and checking a path component by component, following no symbolic link. Used by `workspace/snapshots/scan` and
`workspace/snapshots/restore`. A path checked first and opened afterwards can be swapped in between; a folder that is already
open cannot.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Generator
from pathlib import Path

from backscroll.errors import InvalidInput
from backscroll.workspace.files.open_flags import CLOEXEC, DIRECTORY, NOFOLLOW, NONBLOCK

_FOLDER = os.O_RDONLY | DIRECTORY | NOFOLLOW | CLOEXEC
_FILE = os.O_RDONLY | NOFOLLOW | NONBLOCK | CLOEXEC
#: Errors for a path that is gone, or leads through something that is not a folder.
ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


def check_path(path: str) -> str:
    """Return the path if it is valid inside a folder: relative, normal, no `..`, nothing of git's own."""
    parts = path.split("/")
    if (
        not path
        or "\0" in path
        or any(part in {"", ".", ".."} for part in parts)
        or any(part.lower() == ".git" for part in parts)
    ):
        raise InvalidInput(f"not a path inside the folder: {path!r}", path=path)
    return path


@contextlib.contextmanager
def opened_root(root: Path) -> Generator[int]:
    """Open the folder itself. The path to it may contain links; paths below it may not."""
    fd = os.open(root, os.O_RDONLY | DIRECTORY | CLOEXEC)
    try:
        yield fd
    finally:
        os.close(fd)


@contextlib.contextmanager
def parent_of(root_fd: int, path: str) -> Generator[tuple[int, str]]:
    """Open the parent folder of a path; yield it with the last part. Raises `OSError` if there is none."""
    *folders, name = check_path(path).split("/")
    fd = os.dup(root_fd)
    try:
        for part in folders:
            inner = os.open(part, _FOLDER, dir_fd=fd)
            os.close(fd)
            fd = inner
        yield fd, name
    finally:
        os.close(fd)


def status(root_fd: int, path: str) -> os.stat_result | None:
    """Return the status of a path, links not followed; None if nothing exists."""
    try:
        with parent_of(root_fd, path) as (fd, name):
            return os.stat(name, dir_fd=fd, follow_symlinks=False)
    except OSError as error:
        if error.errno in ABSENT:
            return None
        raise


def open_file(root_fd: int, path: str) -> int:
    """Open a plain file for reading. Raises `OSError` for anything else; never blocks on a pipe."""
    with parent_of(root_fd, path) as (fd, name):
        opened = os.open(name, _FILE, dir_fd=fd)
    if not stat.S_ISREG(os.fstat(opened).st_mode):
        os.close(opened)
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), path)
    return opened


def link_target(root_fd: int, path: str) -> bytes:
    """Return where a symbolic link points."""
    with parent_of(root_fd, path) as (fd, name):
        return os.fsencode(os.readlink(name, dir_fd=fd))
