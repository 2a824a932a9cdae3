"""A fair queue of writers: processes that write to one file are served in the order of their requests.

SQLite itself makes waiters sleep and try again, each for longer than before: a process that writes without a pause is served
again and again, and one that waits may wait for seconds. So a process draws a number before it begins a transaction, and waits
for all smaller numbers. Numbers are bytes of a small file beside the store (`-turns`); a process owns a number by holding the
system's lock on it. The lock goes with the process, however that ends, so no process waits for a dead one.

Handing over costs more than a small write. So a turn lasts a while: a process that writes again immediately while others wait
does so in the same turn, until `_SLICE` is over. Between two writes the others wait for no more than `_BREATH`.

This is fairness, not safety: SQLite's own lock still decides who writes. Without such locks (some network file systems,
Windows), or if the file cannot be created, everything works without the queue.
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

#: The next number to be drawn, the number whose turn it is, and until when (monotonic nanoseconds; 0: it is writing).
_HEAD = struct.Struct("<QQQ")
_TURN = struct.Struct("<QQ")  # the last two of them
_FIRST = 4096  # the byte of number 0: locks reach beyond the end of a file, which stays small
_STEP = 0.0002  # seconds between two checks, per number before ours
_SLICE = 0.015  # seconds that a turn lasts while others wait
_BREATH = 0.001  # seconds within which the next write of the same turn must start
_LONGEST = 0.02
_FLOCK = struct.Struct("@hhqqi4x")


class WriteQueue:
    """The queue of one store in one process; used by one OS thread at a time."""

    def __init__(self, store: Path) -> None:
        self._path = store.with_name(f"{store.name}-turns")
        self._file: int | None = None
        self._works = sys.platform != "win32"
        self._number: int | None = None  # while it is our turn
        self._over = 0.0  # when it ends at the latest
        self._kept = 0.0  # deadline for the next write

    @contextmanager
    def take_turn(self, deadline: float) -> Generator[None]:
        """Wait for our turn, which ends with the block. After the deadline SQLite decides."""
        if not self._go_on():
            self._end()
            self._number = self._draw(deadline) if self._works else None
            if self._number is not None:
                self._over = 0.0
                self._wait(self._number, deadline)
        try:
            yield
        finally:
            if self._number is not None and not self._keep(self._number):
                self._end()

    def _draw(self, deadline: float) -> int | None:
        """Return our number, with its lock; None without a queue."""
        try:
            file = self._open_file()
            while not _lock(file, 0, 1, shared=False):  # held while a number is drawn
                if time.monotonic() > deadline:
                    return None
                time.sleep(_STEP)
            try:
                number = self._head(file)[0]
                os.pwrite(
                    file, (number + 1).to_bytes(8, "little"), 0
                )  # the rest is written by the process whose turn it is
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
            while True:
                _, turn, until = self._head(file)
                # Turns are in order: do not wait for numbers before the last one that had its turn,
                gone = until and time.monotonic_ns() > until  # nor for that one, if it did not write again
                first = min(turn + 1 if gone else turn, number)
                if first == number or _lock(file, _FIRST + first, number - first, shared=True):
                    break
                if time.monotonic() > deadline:
                    return
                time.sleep(min(_LONGEST, _STEP * max(1, number - turn)))
            if first < number:
                _lock(file, _FIRST + first, number - first, release=True)
            while not self._tell(file, number, 0):
                if time.monotonic() > deadline:
                    return
                time.sleep(_STEP)
            self._over = time.monotonic() + _SLICE
        except OSError:
            self._works = False

    def _go_on(self) -> bool:
        """Return True if the turn that we kept still lasts."""
        if self._number is None or self._file is None or time.monotonic() >= self._kept:
            return False
        try:
            return self._tell(self._file, self._number, 0, mine=True)
        except OSError:
            return False

    def _tell(self, file: int, number: int, until: int, *, mine: bool = False) -> bool:
        """Record whose turn it is; False if another process is drawing a number, or (`mine`) the turn went to others.

        Turns only go forward: a process delayed between reading and writing must not return the turn to a past number,
        because the others would then wait for numbers that never come again.
        """
        if not _lock(file, 0, 1, shared=False):
            return False
        try:
            turn = self._head(file)[1]
            if mine and turn != number:
                return False
            if turn <= number:
                os.pwrite(file, _TURN.pack(number, until), 8)
        finally:
            self._unlock(0)
        return True

    def _keep(self, number: int) -> bool:
        """Keep the turn for another write, if time is left in it and others are waiting."""
        now = time.monotonic()
        if self._file is None or now + _BREATH >= self._over:
            return False
        try:
            if self._head(self._file)[0] == number + 1:
                return False  # no process is waiting
            self._kept = now + _BREATH
            return self._tell(self._file, number, time.monotonic_ns() + int(_BREATH * 1e9), mine=True)
        except OSError:
            return False

    def _end(self) -> None:
        number, self._number = self._number, None
        if number is not None:
            self._unlock(_FIRST + number)

    def _head(self, file: int) -> tuple[int, int, int]:
        head = os.pread(file, _HEAD.size, 0)
        return _HEAD.unpack(head) if len(head) == _HEAD.size else (0, 0, 0)

    def _open_file(self) -> int:
        if self._file is not None and os.fstat(self._file).st_nlink == 0:
            self.close()  # a process that was alone removed the file
        if self._file is None:
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666)
        return self._file

    def _unlock(self, start: int) -> None:
        if self._file is not None:
            with suppress(OSError):  # released with the file at the latest
                _lock(self._file, start, 1, release=True)

    def close(self) -> None:
        """Release the file; the last process removes it."""
        self._end()
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
        self._number = None
        file, self._file = self._file, None
        if file is not None:
            os.close(file)


if sys.platform != "win32":
    _SET: int = getattr(fcntl, "F_OFD_SETLK", fcntl.F_SETLK)

    def _lock(file: int, start: int, length: int, *, shared: bool = False, release: bool = False) -> bool:
        """Try to lock a range of bytes (0: to the end), or release it; False if another process holds it.

        Uses open file description locks if the system has them: they also work between two stores of one process.
        """
        kind = fcntl.F_UNLCK if release else fcntl.F_RDLCK if shared else fcntl.F_WRLCK
        try:
            if _SET == fcntl.F_SETLK:
                how = fcntl.LOCK_UN if release else fcntl.LOCK_SH if shared else fcntl.LOCK_EX
                fcntl.lockf(file, how if release else how | fcntl.LOCK_NB, length, start)
            else:
                fcntl.fcntl(file, _SET, _FLOCK.pack(kind, os.SEEK_SET, start, length, 0))
        except (BlockingIOError, PermissionError):  # EAGAIN or EACCES, depending on the system
            return False
        return True
else:

    def _lock(file: int, start: int, length: int, *, shared: bool = False, release: bool = False) -> bool:
        """Return False: this system has no file locks, hence no queue."""
        raise OSError(file, start, length, shared, release)
