"""Pacing: how background work makes way for callers in the same process.

Owns the two rules. *Way*: no slice of work begins while a caller is inside a call that a user waits for. *Share*: after a slice
the worker rests in proportion to the time that it took, longer while callers come and go. Both end at an upper bound, so that work
gets done however busy the callers are. Uses the clock of the machine: nothing that is derived depends on it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass

#: Events or messages in one slice: about ten milliseconds of work.
SLICE = 24
#: Seconds of rest for a second of work: while callers come and go, and while no user is present.
ATTENDED, ALONE = 4.0, 0.25
_LATELY = 3.0  # seconds for which callers count as coming and going
_LONGEST = 1.0  # seconds of rest at most
_PATIENCE = 0.5  # seconds for which a slice waits for callers to finish


@dataclass
class Progress:
    """What a worker has done so far."""

    threads: int = 0
    made: int = 0
    failed: int = 0
    last_error: str = ""


class Callers:
    """Who is inside a call right now, and when a caller last was."""

    def __init__(self) -> None:
        self._free = threading.Condition()
        self._inside = 0
        self._last = float("-inf")

    @contextmanager
    def inside(self) -> Generator[None]:
        """Announce a call that a user waits for."""
        with self._free:
            self._inside += 1
        try:
            yield
        finally:
            with self._free:
                self._inside -= 1
                self._last = time.monotonic()
                self._free.notify_all()

    def came(self) -> None:
        """Note a call that is done already."""
        self._last = time.monotonic()

    @property
    def lately(self) -> bool:
        """True if a call runs, or ended a moment ago."""
        return self._inside > 0 or time.monotonic() - self._last < _LATELY

    def make_way(self, seconds: float = _PATIENCE) -> bool:
        """Wait until no call runs; False if that took too long."""
        with self._free:
            return self._free.wait_for(lambda: self._inside == 0, seconds)


class Pace:
    """The rhythm of one worker."""

    def __init__(self, callers: Callers, rest: Callable[[float], object]) -> None:
        self._callers, self._rest = callers, rest
        self._began = time.perf_counter()

    def begin(self) -> None:
        """Let callers go first, then start a slice."""
        self._callers.make_way()
        self._began = time.perf_counter()

    def end(self) -> None:
        """Rest in proportion to the slice that ends here."""
        took = time.perf_counter() - self._began
        share = ATTENDED if self._callers.lately else ALONE
        self._rest(min(_LONGEST, took * share))
        self.begin()


def in_strides(work: Callable[[int], int], stride: int, limit: int | None) -> int:
    """Do work until nothing is left, or `limit` is reached; `work` is told how much to take on, and says how much it did."""
    done = 0
    while limit is None or done < limit:
        most = stride if limit is None else min(stride, limit - done)
        more = work(most)
        done += more
        if more < most:
            break
    return done
