"""Background work: digests, gists, summaries, vectors, made ahead of time and off the hot path.

A worker holds one thread of the store at a time (a lease in the store, so several processes never do the same work, and work
of one that died is taken up again), brings it up to date step by step, and notes how far it got: stopping at any moment
loses nothing. Nothing waits for a worker: what is not made yet is made on demand, or left out and said so.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from backscroll.vocab.moment import microseconds

if TYPE_CHECKING:
    from backscroll.engine.engine import Engine
    from backscroll.engine.thread import Thread

#: The name under which the store keeps how far background work has come.
JOB = "background"
#: Seconds for which a thread is held; longer work renews it step by step.
LEASE = 120
#: Messages or turns that one step takes on before others get a chance.
STRIDE = 500
_IDLE = 2.0  # seconds after which a resting worker looks for what other processes wrote

#: A step: brings one kind of derived things of a thread up to date, at most so many; gives how many it made.
Step = Callable[["Engine", str, int], int]


def steps(engine: Engine) -> Sequence[Step]:
    """What there is to do for a thread, cheapest first."""
    from backscroll.engine.tree import catch_up

    out: list[Step] = [catch_up]
    if engine.settings.encoder != "none":
        from backscroll.engine.embedding import embed_pending

        out.append(embed_pending)
    return out


def bring_up_to_date(engine: Engine, thread: str, stop: Callable[[], bool] = lambda: False) -> int:
    """Derive everything that is due for a thread, here and now; gives how many things were made."""
    made = 0
    for step in steps(engine):
        while not stop():
            done = step(engine, thread, STRIDE)
            made += done
            if done < STRIDE:
                break
    return made


@dataclass
class Progress:
    """What a worker has done so far."""

    threads: int = 0
    made: int = 0
    failed: int = 0
    last_error: str = ""


class Worker:
    """One worker; `run` does the work where it is called, `start` in an OS thread of its own."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.name = f"{os.getpid()}-{id(self):x}"
        self.progress = Progress()
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._resting: dict[str, int] = {}  # threads that failed, with the event at which they did

    # -- life ------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to work; a second call does nothing."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._live, name="backscroll-background", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Finish the step at hand and rest for good."""
        self._stop.set()
        self._wake.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        self._thread = None

    def tell(self, _thread: Thread) -> None:
        """Something was written."""
        self._wake.set()

    @property
    def working(self) -> bool:
        """True while there is a thread of its own."""
        return self._thread is not None

    def _live(self) -> None:
        while not self._stop.is_set():
            self._wake.clear()
            if not self.run():
                self._wake.wait(_IDLE)

    # -- work ------------------------------------------------------------------------------------------------

    def run(self, limit: int | None = None) -> int:
        """Take up what is due until nothing is left (or so many threads are done); gives how many threads."""
        done = 0
        while not self._stop.is_set() and (limit is None or done < limit):
            held = self._claim()
            if held is None:
                break
            self._one(*held)
            done += 1
        return done

    def _claim(self) -> tuple[str, int] | None:
        now = microseconds(self.engine.means.now())
        held = self.engine.store.write(lambda tx: tx.claim(JOB, self.name, now, now + LEASE * 1_000_000))
        if held is None:
            return None
        head = self._head(held[0])
        if self._resting.get(held[0]) == head:
            # It failed at this very event: leave it until something changes, or the lease runs out.
            return None
        return held[0], head

    def _head(self, thread: str) -> int:
        state = self.engine.store.read(lambda reader: reader.thread(thread))
        return 0 if state is None else state.head

    def _one(self, thread: str, head: int) -> None:
        try:
            self.progress.made += bring_up_to_date(self.engine, thread, self._stop.is_set)
        except Exception as error:  # noqa: BLE001 - outermost boundary of a thread: what failed is told by `doctor`
            self.progress.failed += 1
            self.progress.last_error = f"{type(error).__name__}: {error}"
            self._resting[thread] = head
            return
        if not self._stop.is_set():
            self.engine.store.write(lambda tx: tx.set_progress(thread, JOB, head))
            self.progress.threads += 1
