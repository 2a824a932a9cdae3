"""Atomic replacement of a file.

Owns how files are written: a new file beside the old one, filled and synced, with its mode and owner, then renamed over it,
unless the old file has changed since it was checked. Elsewhere: resolving paths (`walk`), contents (`files`).
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress

from backscroll.errors import Conflict
from backscroll.workspace.files.guard import escape_path
from backscroll.workspace.files.open_flags import CLOEXEC, NOFOLLOW
from backscroll.workspace.files.walk import OpenPath

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | NOFOLLOW | CLOEXEC


def put(spot: OpenPath, data: bytes, mode: int | None, beside: str) -> None:
    """Write a file: the new content beside the old one (under the name `beside`), then rename it over."""
    file = os.open(beside, _NEW, 0o666, dir_fd=spot.folder)
    try:
        try:
            _fill(file, data, mode, spot.status)
        finally:
            os.close(file)
        _still(spot)
        linked = spot.status is None and _link_file(beside, spot)
        if not linked:
            os.rename(beside, spot.name, src_dir_fd=spot.folder, dst_dir_fd=spot.folder)
    except BaseException:
        _drop(beside, spot)
        raise
    if linked:
        _drop(beside, spot)
    os.fsync(spot.folder)


def _drop(beside: str, spot: OpenPath) -> None:
    """Remove the temporary name. If that fails, it stays, hidden; the result does not change."""
    with suppress(OSError):
        os.unlink(beside, dir_fd=spot.folder)


def _link_file(beside: str, spot: OpenPath) -> bool:
    """Link the new file to its name; fails if a file has appeared there, which a rename would overwrite."""
    try:
        os.link(beside, spot.name, src_dir_fd=spot.folder, dst_dir_fd=spot.folder, follow_symlinks=False)
    except OSError as error:
        if error.errno in (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS):
            return False  # a disk without hard links
        raise
    return True


def _fill(file: int, data: bytes, mode: int | None, before: os.stat_result | None) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]
    if before is not None and (before.st_uid, before.st_gid) != (os.geteuid(), os.getegid()):
        with suppress(PermissionError):  # only root can change the owner
            os.fchown(file, before.st_uid, before.st_gid)
    if mode is None and before is not None:
        mode = stat.S_IMODE(before.st_mode)
    if mode is not None:
        os.fchmod(file, mode)
    os.fsync(file)


def _still(spot: OpenPath) -> None:
    """Raise if the file is no longer the one that was checked."""
    try:
        now = os.lstat(spot.name, dir_fd=spot.folder)
    except FileNotFoundError:
        now = None
    if _mark(now) != _mark(spot.status):
        raise Conflict(
            f"{escape_path(spot.path)} was modified by another process at the same time",
            hint="nothing was written; read it again",
            path=spot.path,
        )


def _mark(status: os.stat_result | None) -> tuple[int, ...]:
    if status is None:
        return ()
    return status.st_dev, status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns
