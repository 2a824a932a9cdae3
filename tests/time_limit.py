"""Time limits for tests and for the run as a whole: what hangs fails with the stacks of all threads.

Three limits, each the net below the one before it:

A test            after `TEST_SECONDS`, and again every `AGAIN_SECONDS` while its fixtures end, its main thread is
                  interrupted: the test fails with the line on which it waited.
A test process    a test whose main thread cannot be interrupted (a wait inside an extension) ends its process soon after
                  that; xdist names the test and starts another process. The same, with `END_SECONDS`, for what a
                  process does after its last test.
The whole run     where no process of tests has reported anything for `SILENT_SECONDS`, the run ends with what it has.

The limits are for hangs, not for slowness: they hold on a machine that is ten times slower than usual.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import NoReturn

import pytest

#: With forty times the examples, more time for them.
_MORE = 20.0 if os.environ.get("HYPOTHESIS_PROFILE") == "thorough" else 1.0
TEST_SECONDS = 900.0 * _MORE
AGAIN_SECONDS = 60.0
END_SECONDS = 300.0
SILENT_SECONDS = 1800.0 * _MORE

_stderr = 2


def keep_stderr() -> None:
    """Remember standard error while pytest does not capture it: stacks must be seen whatever a test does to the file."""
    global _stderr
    _stderr = os.dup(2)


@contextlib.contextmanager
def limit_test(name: str, seconds: float = TEST_SECONDS, again: float = AGAIN_SECONDS) -> Iterator[None]:
    """Fail what runs inside when it lasts too long. For the main thread; elsewhere there is no limit."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(_signal: int, _frame: FrameType | None) -> NoReturn:
        write_stacks(f"{name} has not ended after {seconds:.0f} seconds")
        pytest.fail(f"not ended after {seconds:.0f} seconds; all stacks are on standard error")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, again)
    faulthandler.dump_traceback_later(seconds + 3 * again, exit=True, file=_stderr)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class Silence:
    """A plugin for the process that directs the others: ends the run when it has not heard from them for too long."""

    def __init__(self, seconds: float = SILENT_SECONDS) -> None:
        self._seconds = seconds
        self._before = signal.signal(signal.SIGALRM, self._end_run)
        self.pytest_runtest_logreport()

    def pytest_runtest_logreport(self) -> None:
        """Start to count again."""
        signal.setitimer(signal.ITIMER_REAL, self._seconds)

    def pytest_unconfigure(self) -> None:
        """Stop counting."""
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._before)

    def _end_run(self, _signal: int, _frame: FrameType | None) -> NoReturn:
        said = f"no test process has reported anything for {self._seconds:.0f} seconds"
        write_stacks(said)
        pytest.exit(said, returncode=1)


def limit_end(seconds: float = END_SECONDS) -> None:
    """End this process, with its stacks, if it still runs after so long: for what comes after the last test."""
    faulthandler.dump_traceback_later(seconds, exit=True, file=_stderr)


def write_stacks(why: str) -> None:
    """Print what every thread of this process does now, and which programs it waits for."""
    os.write(_stderr, f"\n{why} (process {os.getpid()})\n".encode(errors="replace"))
    faulthandler.dump_traceback(_stderr)
    for child in children():
        os.write(_stderr, f"child {child}: {_command(child)}\n".encode(errors="replace"))


def children() -> list[int]:
    """The processes that this one has started and not yet waited for; none where the system does not say."""
    found: list[int] = []
    for task in Path("/proc/self/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += [int(word) for word in task.read_text().split()]
    return found


def kill_children() -> list[str]:
    """Kill what is left of the programs that tests started: an orphan would keep the pipes of this run open.

    Returns their command lines. A process that has ended already has none.
    """
    left: list[str] = []
    for child in children():
        command = _command(child)
        if "resource_tracker" in command:  # of multiprocessing: it ends with this process
            continue
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(child, signal.SIGKILL)
            if command:
                left.append(command)
        wait_for_end(child, 10.0)
    return left


def wait_for_end(child: int, seconds: float) -> bool:
    """Wait until a child of this process has ended, but no longer than this; False where it still runs."""
    end = time.monotonic() + seconds
    while True:
        try:
            if os.waitpid(child, os.WNOHANG)[0]:
                return True
        except ChildProcessError:
            return True
        if time.monotonic() > end:
            return False
        time.sleep(0.01)


def _command(process: int) -> str:
    try:
        return (
            Path(f"/proc/{process}/cmdline")
            .read_bytes()
            .replace(b"\0", b" ")
            .decode(errors="replace")
            .strip()
        )
    except OSError:
        return ""


def warn_of(left: list[str]) -> None:
    """Say which programs had to be killed at the end."""
    for command in left:
        os.write(_stderr, f"left running by a test, killed: {command[:500]}\n".encode(errors="replace"))
