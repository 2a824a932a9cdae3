"""Read files that a user names: regular files only, without ever blocking.

A pipe, a socket or a device under the name of a file would block the program or never end. They are rejected with an
OSError like any other unreadable file, so that every caller reports it in its own words. Checks before opening (opening a
device may have effects) and again afterwards (the file may have been swapped).
"""

from __future__ import annotations

import errno
import io
import os
import stat
from pathlib import Path
from typing import BinaryIO

_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_CLOEXEC", 0)
NOT_REGULAR = "not a regular file"


def is_special(path: Path) -> bool:
    """Return True for a path that exists and is neither a file nor a folder: a pipe, a socket, a device."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file for reading; raises OSError for anything else."""
    _check(path.stat().st_mode, path)
    handle = os.open(path, _FLAGS)
    try:
        _check(os.fstat(handle).st_mode, path)
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def _check(mode: int, path: Path) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, NOT_REGULAR, str(path))


def read_bytes(path: Path) -> bytes:
    """Return the contents of a regular file."""
    with open_regular(path) as file:
        return file.read()


def read_text(path: Path, encoding: str = "utf-8", errors: str = "strict", newline: str | None = None) -> str:
    """Return the contents of a regular file as text."""
    with io.TextIOWrapper(open_regular(path), encoding=encoding, errors=errors, newline=newline) as file:
        return file.read()
