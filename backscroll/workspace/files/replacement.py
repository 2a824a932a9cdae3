"""Atomic replacement of a file.

Owns the one way in which a file is written: a new file beside it, filled and flushed, with the mode and owner of the old one, then
renamed over it, unless what is there is no longer what was looked at. Refuses: finding the place (`walk`), deciding what
goes there (`files`).
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
    """Write a file: the new content beside the old one (named by `beside`), then over it."""
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
    """Remove the second name. If even that fails, it stays, hidden; the result does not change."""
    with suppress(OSError):
        os.unlink(beside, dir_fd=spot.folder)


def _link_file(beside: str, spot: OpenPath) -> bool:
    """Give the new file its name; fails where a file has appeared there meanwhile, which a rename would write over."""
    try:
        os.link(beside, spot.name, src_dir_fd=spot.folder, dst_dir_fd=spot.folder, follow_symlinks=False)
    except OSError as error:
        if error.errno in (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS):
            return False  # a disk that knows no second names
        raise
    return True


def _fill(file: int, data: bytes, mode: int | None, before: os.stat_result | None) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]
    if before is not None and (before.st_uid, before.st_gid) != (os.geteuid(), os.getegid()):
        with suppress(PermissionError):  # only the administrator gives files away
            os.fchown(file, before.st_uid, before.st_gid)
    if mode is None and before is not None:
        mode = stat.S_IMODE(before.st_mode)
    if mode is not None:
        os.fchmod(file, mode)
    os.fsync(file)


def _still(spot: OpenPath) -> None:
    """Raise where what is there now is not what was looked at."""
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
