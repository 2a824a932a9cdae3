"""One at a time: whoever looks at a folder, records what changed in it or brings it back holds its lock.

The lock is the operating system's, on a file beside the snapshots: it goes with the process that held it, however that ended,
so an unfinished rewind is never taken for one that is still going on. Before: nothing. After: `engine/changing`.
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
def held(path: Path, patience: float) -> Generator[None]:
    """Hold a lock, or wait for it; a clear error where somebody else has it for too long."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    except OSError as error:
        raise StoreError(
            f"snapshots cannot be kept in {path.parent.parent}: {error.strerror}",
            hint="is the disk full, or the folder read-only?",
        ) from error
    try:
        until = time.monotonic() + patience
        while not _taken(descriptor):
            if time.monotonic() > until:
                raise Conflict(
                    "another program is at work on the snapshots of this folder",
                    hint="wait until it is done, and try again",
                )
            time.sleep(_EVERY)
        yield
    finally:
        os.close(descriptor)  # which lets go of it


if sys.platform == "win32":
    import msvcrt

    def _taken(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
else:
    import fcntl

    def _taken(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
