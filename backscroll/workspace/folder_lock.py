"""The lock of a folder: held while a process scans it, records changes, restores files or erases snapshots.

The lock is the operating system's, on a file beside the snapshots: it ends with its process in any case, so unfinished work
is never mistaken for work under way.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from backscroll.errors import Conflict, StoreError

_EVERY = 0.02


@contextmanager
def hold_lock(path: Path, patience: float, *, shared: bool = False) -> Generator[None]:
    """Hold a lock, or wait for it; raises a clear error if another process holds it too long.

    `shared`: other processes may hold it shared at the same time, but none exclusively.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    except OSError as error:
        raise StoreError(
            f"snapshots cannot be kept in {path.parent.parent}: {error.strerror}",
            hint="check that the disk is not full and the folder is writable",
        ) from error
    try:
        until = time.monotonic() + patience
        while not take_lock(descriptor, shared=shared):
            if time.monotonic() > until:
                raise Conflict(
                    "another process is using the snapshots of this folder",
                    hint="try again when it has finished",
                )
            time.sleep(_EVERY)
        yield
    finally:
        os.close(descriptor)  # which releases it


if sys.platform == "win32":
    import msvcrt

    def take_lock(descriptor: int, *, shared: bool) -> bool:  # noqa: ARG001 - there is only one kind there
        """Lock a file without waiting; False if another program holds it. Closing the file releases it."""
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
else:
    import fcntl

    def take_lock(descriptor: int, *, shared: bool) -> bool:
        """Lock a file without waiting; False if another program holds it. Closing the file releases it."""
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
