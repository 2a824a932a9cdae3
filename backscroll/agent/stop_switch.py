"""The switch that stops a run from any thread or signal handler.

Owns the switch and who is notified when it is thrown (an open stream is closed, a process group is killed).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager


class RunStopped(Exception):
    """Raised if the user stopped the run."""


class Stop:
    """Thrown once; `clear` resets it for the next run."""

    def __init__(self) -> None:
        self._thrown = threading.Event()
        self._told: list[Callable[[], None]] = []
        # Reentrant: a signal handler throws the switch wherever its thread happens to be.
        self._lock = threading.RLock()

    @property
    def thrown(self) -> bool:
        """True once the user wants to stop."""
        return self._thrown.is_set()

    def throw(self) -> None:
        """Stop whatever is going on."""
        with self._lock:
            self._thrown.set()
            told = list(self._told)
        for work in told:
            work()

    def clear(self) -> None:
        """Reset the switch."""
        self._thrown.clear()

    def check(self) -> None:
        """Raise `RunStopped` if the switch was thrown."""
        if self._thrown.is_set():
            raise RunStopped

    def wait(self, seconds: float) -> bool:
        """Sleep until the switch is thrown, at most `seconds`; True if it was."""
        return self._thrown.wait(seconds)

    @contextmanager
    def telling(self, work: Callable[[], None]) -> Generator[None]:
        """Call something when the switch is thrown, as long as the block runs."""
        with self._lock:
            self._told.append(work)
        try:
            yield
        finally:
            with self._lock:
                self._told.remove(work)
