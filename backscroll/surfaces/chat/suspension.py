"""Ctrl-Z and `fg`: the shell gets its terminal back as it was, and the chat goes on where it stood.

Owns the signal that suspends. While an answer comes, the live lines go, the cursor is shown and the terminal's modes are those from
before the chat; after `fg` all of it is as it was. The prompt and questions suspend themselves and pass by here. Refuses: stopping
the agent's work: its commands run on, in groups of their own.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType
from typing import Protocol


class SuspendedDrawing(Protocol):
    """What is drawn at the time, as far as suspending needs it."""

    @property
    def lock(self) -> threading.RLock:
        """Held while something is drawn."""
        ...

    def leave(self) -> None:
        """Take the live lines away."""
        ...

    def come_back(self) -> None:
        """Draw them again."""
        ...


_SECONDS = 0.5  # that a picture which is just being drawn may take


def suspend() -> None:
    """Suspend this program alone: of a whole group, a child that is just being made would stop too, and we would wait for it."""
    if sys.platform != "win32":
        os.kill(os.getpid(), signal.SIGTSTP)


@contextmanager
def suspendable(region: SuspendedDrawing) -> Generator[None]:
    """For as long as the block runs, Ctrl-Z leaves a sane terminal; where programs cannot be suspended, nothing changes."""
    main = threading.current_thread() is threading.main_thread()
    if sys.platform == "win32" or not main or not sys.stdin.isatty():
        yield
        return
    import termios

    found = signal.getsignal(signal.SIGTSTP)
    if found is not signal.SIG_DFL:  # ignored, or handled already
        yield
        return
    handle = sys.stdin.fileno()
    before = termios.tcgetattr(handle)

    def handle_suspend(_signal: int, _frame: FrameType | None) -> None:
        ours = termios.tcgetattr(handle)
        held = region.lock.acquire(timeout=_SECONDS)  # nothing is drawn meanwhile
        try:
            region.leave()
            termios.tcsetattr(handle, termios.TCSANOW, before)
            signal.signal(signal.SIGTSTP, signal.SIG_DFL)
            signal.pthread_kill(threading.get_ident(), signal.SIGTSTP)  # here the program stands still
            signal.signal(signal.SIGTSTP, handle_suspend)
            termios.tcsetattr(handle, termios.TCSANOW, ours)
            region.come_back()
        finally:
            if held:
                region.lock.release()

    signal.signal(signal.SIGTSTP, handle_suspend)
    try:
        yield
    finally:
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
