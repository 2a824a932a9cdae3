"""Reading files that a user names: regular files only, and never waiting for one.

A pipe, a socket or a device under the name of a file would block the program, or never end. They are refused with an OSError
like any other file that cannot be read, so that every caller says so in its own words. Looks before it opens (opening a
device may do something) and again at what was opened (it may have been swapped meanwhile).
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
    """Return True for what is there and is neither a file nor a folder: a pipe, a socket, a device."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def open_regular(path: Path) -> BinaryIO:
    """Return a regular file, open for reading; raises OSError for everything else."""
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
    """Return everything in a regular file."""
    with open_regular(path) as file:
        return file.read()


def read_text(path: Path, encoding: str = "utf-8", errors: str = "strict", newline: str | None = None) -> str:
    """Return everything in a regular file as text."""
    with io.TextIOWrapper(open_regular(path), encoding=encoding, errors=errors, newline=newline) as file:
        return file.read()
