"""Ctrl-Z and `fg`: restore the terminal for the shell, and resume the chat.

Owns the signal that suspends. During an answer, the live lines are removed, the cursor is shown and the terminal's modes are those from
before the chat; after `fg` everything is restored. The prompt and questions suspend themselves through here. Refuses: stopping
the agent's work: its commands keep running, in groups of their own.
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
    """The current drawing, as far as suspending needs it."""

    @property
    def lock(self) -> threading.RLock:
        """A lock that is held while something is drawn."""
        ...

    def leave(self) -> None:
        """Remove the live lines."""
        ...

    def come_back(self) -> None:
        """Draw them again."""
        ...


_SECONDS = 0.5  # seconds that a drawing in progress may take


def suspend() -> None:
    """Suspend this program alone: in a whole group, a child that is just being started would stop too, and we would wait for it."""
    if sys.platform != "win32":
        os.kill(os.getpid(), signal.SIGTSTP)


@contextmanager
def suspendable(region: SuspendedDrawing) -> Generator[None]:
    """While the block runs, make Ctrl-Z restore the terminal; if programs cannot be suspended, nothing changes."""
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
            signal.pthread_kill(threading.get_ident(), signal.SIGTSTP)  # the program is suspended here
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
