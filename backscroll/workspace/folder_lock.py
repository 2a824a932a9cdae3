"""One at a time: whoever looks at a folder, records what changed in it, brings it back or erases something of it holds its lock.

The lock is the operating system's, on a file beside the snapshots: it goes with the process that held it, however that ended,
so unfinished work is never taken for work that is still going on. Refuses: knowing what it is held for. Before: nothing. After:
`workspace/snapshots/keeper`, `engine/folder/workroom`.
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
def held(path: Path, patience: float, *, shared: bool = False) -> Generator[None]:
    """Hold a lock, or wait for it; a clear error where somebody else has it for too long.

    `shared`: others may hold it in the same way at the same time, but nobody alone.
    """
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
        while not take_lock(descriptor, shared=shared):
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

    def take_lock(descriptor: int, *, shared: bool) -> bool:  # noqa: ARG001 - there is only one kind there
        """Lock a file without waiting; False where another program holds it. Closing the file lets go of it."""
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
else:
    import fcntl

    def take_lock(descriptor: int, *, shared: bool) -> bool:
        """Lock a file without waiting; False where another program holds it. Closing the file lets go of it."""
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
