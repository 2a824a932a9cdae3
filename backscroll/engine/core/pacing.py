"""Pacing: how background work yields to callers in the same process.

Owns two rules. *Way*: no slice of work begins while a user's call is running. *Share*: after a slice the worker rests in
proportion to its duration, longer while callers are active. Both have an upper bound, so that work progresses however busy
the callers are. Uses the machine's clock: nothing derived depends on it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass

#: Events or messages in one slice: about ten milliseconds of work.
SLICE = 24
#: Seconds of rest per second of work: while callers are active, and while no user is present.
ATTENDED, ALONE = 4.0, 0.25
_LATELY = 3.0  # seconds for which callers count as active
_LONGEST = 1.0  # maximum seconds of rest
_PATIENCE = 0.5  # seconds for which a slice waits for callers to finish


@dataclass
class Progress:
    """What a worker has done so far."""

    threads: int = 0
    made: int = 0
    failed: int = 0
    last_error: str = ""


class Callers:
    """Tracks which calls are running, and when the last one was."""

    def __init__(self) -> None:
        self._free = threading.Condition()
        self._inside = 0
        self._last = float("-inf")

    @contextmanager
    def inside(self) -> Generator[None]:
        """Mark a call that a user waits for as running."""
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
        """Note a call that is already finished."""
        self._last = time.monotonic()

    @property
    def lately(self) -> bool:
        """True if a call is running, or ended a moment ago."""
        return self._inside > 0 or time.monotonic() - self._last < _LATELY

    def make_way(self, seconds: float = _PATIENCE) -> bool:
        """Wait until no call is running; False on timeout."""
        with self._free:
            return self._free.wait_for(lambda: self._inside == 0, seconds)


class Pace:
    """The pacing of one worker."""

    def __init__(self, callers: Callers, rest: Callable[[float], object]) -> None:
        self._callers, self._rest = callers, rest
        self._began = time.perf_counter()

    def begin(self) -> None:
        """Wait for callers, then start a slice."""
        self._callers.make_way()
        self._began = time.perf_counter()

    def end(self) -> None:
        """Rest in proportion to the slice that just ended."""
        took = time.perf_counter() - self._began
        share = ATTENDED if self._callers.lately else ALONE
        self._rest(min(_LONGEST, took * share))
        self.begin()


def in_strides(work: Callable[[int], int], stride: int, limit: int | None) -> int:
    """Call `work` in batches until nothing is left or `limit` is reached; it receives a size and returns how much it did."""
    done = 0
    while limit is None or done < limit:
        most = stride if limit is None else min(stride, limit - done)
        more = work(most)
        done += more
        if more < most:
            break
    return done
