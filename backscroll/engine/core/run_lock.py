"""Run lock: one run at a time in a thread, across programs.

Two agents that answer in the same thread would take each other's calls for abandoned and answer them twice, and a rewind
would pull files from under a run. Owns the lock: the operating system's, on a small file in the data folder, so it is
released when its process ends, however that happens. It does not reach across machines (PostgreSQL); where locks are
unavailable, a run proceeds without.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from backscroll.config import default_store
from backscroll.errors import Conflict

if TYPE_CHECKING:
    from pathlib import Path

_TRIES = 50  # releasing a lock removes its file, which may be the very one that was just opened


class RunLock:
    """The right to run in one thread, or to rewind it; reentrant for the same agent."""

    def __init__(self, thread_id: str) -> None:
        self._path: Path = default_store().parent / "locks" / f"run-{thread_id}.lock"
        self._file: int | None = None
        self._depth = 0

    def __enter__(self) -> RunLock:
        if not self._depth:
            self._file = _acquire_lock(self._path)
        self._depth += 1
        return self

    def __exit__(self, *error: object) -> None:
        self._depth -= 1
        if self._depth <= 0:
            self.close()

    def close(self) -> None:
        """Release the lock, however often it is held."""
        file, self._file, self._depth = self._file, None, 0
        if file is not None:
            with suppress(OSError):
                self._path.unlink()
            os.close(file)


def _acquire_lock(path: Path) -> int | None:
    """Return the lock of a file; None on systems without file locks. Raises `Conflict` if another process holds it."""
    try:
        import fcntl
    except ImportError:  # Windows and others
        return None
    for _ in range(_TRIES):
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError:  # not writable: other processes cannot write either
            return None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(file), path.stat()):
                return file
        except BlockingIOError:
            os.close(file)
            raise Conflict(
                "another agent is running in this thread",
                hint="wait until it ends, stop it, or continue in a fork",
            ) from None
        except OSError:  # the file was removed meanwhile, or this disk does not support locks
            os.close(file)
            continue
        os.close(file)
    return None
