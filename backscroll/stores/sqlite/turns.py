"""Whose turn it is to write: processes that write to one file are served in the order in which they asked.

SQLite itself makes waiters sleep and try again, each for longer than before: whoever writes without a pause is served again and
again, and one that waits may wait for seconds. So a process draws a number before it begins a transaction, and waits for all
smaller numbers. Numbers are bytes of a small file beside the store (`-turns`); to have one is to hold the system's lock on it.
The lock goes with the process, however that ends, so nobody waits for the dead.

This is courtesy, not safety: SQLite's own lock still decides who writes. Where there are no such locks (some network file systems,
Windows), or the file cannot be made, everything works as it does without. Refuses to know what is written.
"""

from __future__ import annotations

import os
import struct
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

if sys.platform != "win32":
    import fcntl

_HEAD = struct.Struct("<QQ")  # the next number to be drawn, the number whose turn it is
_FIRST = 4096  # the byte of number 0: locks reach beyond the end of a file, which stays small
_STEP = 0.0005  # seconds between two looks for each number before ours
_LONGEST = 0.02
_FLOCK = struct.Struct("@hhqqi4x")


class Turns:
    """The queue of one store in one process; used by one OS thread at a time."""

    def __init__(self, store: Path) -> None:
        self._path = store.with_name(f"{store.name}-turns")
        self._file: int | None = None
        self._works = sys.platform != "win32"

    @contextmanager
    def taken(self, deadline: float) -> Generator[None]:
        """Wait for our turn; it ends with the block. Past the deadline nobody waits any longer: SQLite decides."""
        number = self._draw(deadline) if self._works else None
        try:
            if number is not None:
                self._wait(number, deadline)
            yield
        finally:
            if number is not None:
                self._unlock(_FIRST + number)

    def _draw(self, deadline: float) -> int | None:
        """Our number, with its lock; None where there is no queue."""
        try:
            file = self._opened()
            while not _lock(file, 0, 1, shared=False):  # held for as long as it takes to draw a number
                if time.monotonic() > deadline:
                    return None
                time.sleep(_STEP)
            try:
                head = os.pread(file, _HEAD.size, 0)
                number, turn = _HEAD.unpack(head) if len(head) == _HEAD.size else (0, 0)
                os.pwrite(file, _HEAD.pack(number + 1, turn), 0)
                _lock(file, _FIRST + number, 1, shared=False)
            finally:
                self._unlock(0)
        except OSError:
            self._works = False
            self.close()
            return None
        return number

    def _wait(self, number: int, deadline: float) -> None:
        file = self._file
        if file is None:
            return
        try:
            while number and not _lock(file, _FIRST, number, shared=True):
                if time.monotonic() > deadline:
                    return
                time.sleep(min(_LONGEST, _STEP * max(1, number - self._turn(file))))
            if number:
                _lock(file, _FIRST, number, release=True)
            os.pwrite(file, number.to_bytes(8, "little"), 8)
        except OSError:
            self._works = False

    def _turn(self, file: int) -> int:
        """Whose turn it is, as far as the file tells: only how long to sleep depends on it."""
        return int.from_bytes(os.pread(file, 8, 8), "little")

    def _opened(self) -> int:
        if self._file is not None and os.fstat(self._file).st_nlink == 0:
            self.close()  # somebody who was alone took the file away
        if self._file is None:
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666)
        return self._file

    def _unlock(self, start: int) -> None:
        if self._file is not None:
            with suppress(OSError):  # it goes with the file at the latest
                _lock(self._file, start, 1, release=True)

    def close(self) -> None:
        """Let go of the file; who is alone with it takes it away."""
        file, self._file = self._file, None
        if file is None:
            return
        try:
            if self._works and _lock(file, 0, 0, shared=False):
                self._path.unlink(missing_ok=True)
        except OSError:
            self._works = False
        finally:
            os.close(file)

    def abandon(self) -> None:
        """In a forked child: the numbers are the parent's."""
        file, self._file = self._file, None
        if file is not None:
            os.close(file)


if sys.platform != "win32":
    _SET: int = getattr(fcntl, "F_OFD_SETLK", fcntl.F_SETLK)

    def _lock(file: int, start: int, length: int, *, shared: bool = False, release: bool = False) -> bool:
        """Try to lock a range of bytes (0: to the end), or let go of it; False where somebody else has it.

        Where the system knows locks that belong to the opened file, those: they also hold between two stores of one process.
        """
        kind = fcntl.F_UNLCK if release else fcntl.F_RDLCK if shared else fcntl.F_WRLCK
        try:
            if _SET == fcntl.F_SETLK:
                how = fcntl.LOCK_UN if release else fcntl.LOCK_SH if shared else fcntl.LOCK_EX
                fcntl.lockf(file, how if release else how | fcntl.LOCK_NB, length, start)
            else:
                fcntl.fcntl(file, _SET, _FLOCK.pack(kind, os.SEEK_SET, start, length, 0))
        except (BlockingIOError, PermissionError):  # EAGAIN or EACCES, as the system likes
            return False
        return True
else:

    def _lock(file: int, start: int, length: int, *, shared: bool = False, release: bool = False) -> bool:
        """There is no queue here."""
        raise OSError(file, start, length, shared, release)
