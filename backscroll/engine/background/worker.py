"""Background work: digests, gists, summaries and vectors, made ahead of time and off the hot path.

A worker holds one thread of the store at a time (a lease in the store, so several processes never do the same work, and
another takes over if one dies), updates it step by step, and records its progress: stopping at any moment loses nothing.
Nothing waits for a worker: what is missing is made on demand, or left out and reported. A worker beside callers works in
small slices and yields to them (`engine/core/pacing`); one that is run explicitly does everything at once.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from backscroll.engine.background.understanding import UnderstandingWorker, is_wanted, understand
from backscroll.engine.core.pacing import SLICE, Pace, Progress
from backscroll.engine.knowledge.analysis import catch_up as analyse
from backscroll.engine.knowledge.graph_holder import warm
from backscroll.engine.search.recall import preload
from backscroll.engine.tree.tree import catch_up
from backscroll.engine.work.memory.memories import catch_up as read_memories
from backscroll.engine.work.memory.preferences import catch_up as read_preferences
from backscroll.errors import BackscrollError
from backscroll.logs import logger_of
from backscroll.vocab.values.moment import microseconds

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import EngineScope, ThreadScope

#: The name under which the store keeps the progress of background work.
_LOG = logger_of("engine")

JOB = "background"
#: Seconds for which a thread is leased; longer work releases it in time, and continues later.
LEASE = 120
_SPARE = (
    20  # seconds before the end of a lease at which a worker releases it: the current step must finish too
)
#: Messages or turns that one step processes before other threads get their turn.
STRIDE = 500
_SILENCE = 60  # seconds between two checks for conversations that have gone idle
_WANTED = 16  # threads whose graphs are kept up to date for prompts
_IDLE = 2.0  # seconds between checks by an idle worker for what other processes wrote

#: A step: derives one kind of artefact of a thread, at most so many; returns how many it made.
Step = Callable[["EngineScope", str, int], int]


def steps(engine: EngineScope) -> Sequence[Step]:
    """Return the steps of work on a thread, cheapest first."""
    out: list[Step] = [catch_up, read_preferences]
    if engine.settings.extractor != "none":
        out.append(analyse)
    out.append(_remember)
    if engine.settings.encoder != "none":
        # start-up: numpy is loaded by the first search
        from backscroll.engine.search.embedding import embed_pending

        out.append(embed_pending)
    return out


def _remember(engine: EngineScope, thread: str, _limit: int) -> int:
    """Derive the memories of a thread; only new messages are read, so a run is always short."""
    read_memories(engine.thread(thread))
    return 0


def bring_up_to_date(
    engine: EngineScope, thread: str, stop: Callable[[], bool] = lambda: False, pace: Pace | None = None
) -> int:
    """Derive everything that is due for a thread now; return how many artefacts were made. `pace`: yields to callers."""
    made, stride = 0, STRIDE if pace is None else SLICE
    if pace is not None:
        pace.begin()
    for step in steps(engine):
        while not stop():
            done = step(engine, thread, stride)
            made += done
            if pace is not None:
                pace.end()
            if done < stride:
                break
    return made


@dataclass(frozen=True, slots=True)
class _WorkerThread:
    """A thread that a worker holds a lease for."""

    thread: str
    seen: int  # the event up to which everything was made before
    head: int  # the newest event when the lease was taken
    until: int  # microseconds


class Worker:
    """A background worker; `run` works in the calling OS thread, `start` in one of its own."""

    def __init__(self, engine: EngineScope, *, models: bool = False) -> None:
        self.engine = engine
        self.models = models  # also ask a configured model: for workers that no caller waits for
        self.name = f"{os.getpid()}-{id(self):x}"
        self.progress = Progress()
        self.understanding: UnderstandingWorker | None = (
            None  # of a worker beside callers, where a model is configured
        )
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._resting: dict[str, int] = {}  # threads that failed, with the event at which they failed
        self._held: dict[str, _WorkerThread] = {}
        self._take_snapshot = 0  # when unchanged threads were last checked
        self._wanted: dict[str, bool] = {}  # threads whose graph prompts need; True: it is still to be built

    # -- life ------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start working; a second call does nothing."""
        if self._thread is None:
            if is_wanted(self.engine.settings):
                self.understanding = UnderstandingWorker(self.engine)
            self._thread = threading.Thread(target=self._live, name="backscroll-background", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Finish the current step and stop permanently."""
        if self.understanding is not None:
            self.understanding.stop()
        self._stop.set()
        self._wake.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        self._thread = None
        with contextlib.suppress(BackscrollError):  # the store is gone: the lease expires by itself
            for held in list(self._held.values()):
                self._let_go(held)

    def tell(self, thread: ThreadScope) -> None:
        """Queue a thread that was written to."""
        self.engine.callers.came()
        self._wake.set()
        if self.understanding is not None:
            self.understanding.tell(thread)

    def warm(self, thread: str) -> None:
        """Build the graph of a thread that a prompt needs, and keep it up to date from now on."""
        self._wanted[thread] = True
        while len(self._wanted) > _WANTED:
            del self._wanted[next(iter(self._wanted))]
        self._wake.set()

    @property
    def working(self) -> bool:
        """True while its OS thread runs."""
        return self._thread is not None

    @property
    def busy(self) -> int:
        """The number of threads of the store being worked on."""
        return len(self._held)

    def _live(self) -> None:
        while not self._stop.is_set():
            self._wake.clear()
            try:
                done = self.run()
            except BackscrollError as error:  # the store is unreachable: log it, and retry
                self.progress.last_error = f"{type(error).__name__}: {error}"
                _LOG.warning("the store cannot be reached in the background: %s", type(error).__name__)
                done = 0
            self._warm_wanted()
            if not done:
                self._wake.wait(_IDLE)
                self._look_for_silence()

    # -- work ------------------------------------------------------------------------------------------------

    def run(self, limit: int | None = None) -> int:
        """Process due threads until none is left (or `limit` are done); return how many."""
        done = 0
        self.engine.store.index_rest()
        while not self._stop.is_set() and (limit is None or done < limit):
            held = self._claim()
            if held is None:
                break
            done += self._one(held)
        return done

    def _warm_wanted(self) -> None:
        """Build the graphs that prompts asked for."""
        for name in [name for name, waits in list(self._wanted.items()) if waits]:
            if not self._stop.is_set():
                self._warm(name)

    def _warm(self, name: str) -> None:
        self._wanted[name] = False
        self.engine.callers.make_way()
        with contextlib.suppress(BackscrollError):  # the thread may be gone by now
            warm(self.engine.thread(name))

    def _look_for_silence(self) -> None:
        """Periodically flush conversations that have gone idle."""
        if self._now() - self._take_snapshot < _SILENCE * 1_000_000 or self._stop.is_set():
            return
        self._take_snapshot = self._now()
        from backscroll.engine.knowledge.idle import flush_idle  # start-up: a prompt does without it

        with contextlib.suppress(BackscrollError):  # the store is unreachable: retry later
            flush_idle(self.engine)

    def _claim(self) -> _WorkerThread | None:
        """Return the next thread with work to do. A thread that failed at its newest event is skipped until it changes."""
        while self.engine.store.read(lambda reader: reader.behind(JOB, 1)):
            now = self._now()
            until = now + LEASE * 1_000_000
            found = self.engine.store.write(lambda tx, n=now, u=until: tx.claim(JOB, self.name, n, u))
            if found is None:
                return None
            held = self._held[found[0]] = _WorkerThread(found[0], found[1], self._head(found[0]), until)
            if self._resting.get(held.thread) != held.head:
                return held
        return None

    def _head(self, thread: str) -> int:
        state = self.engine.store.read(lambda reader: reader.thread(thread))
        return 0 if state is None else state.head

    def _one(self, held: _WorkerThread) -> int:
        """Process one thread; 1 if done, 0 if it failed, was stopped or took too long."""
        broken_off = False

        def enough() -> bool:
            nonlocal broken_off
            broken_off = self._stop.is_set() or self._now() >= held.until - _SPARE * 1_000_000
            return broken_off

        try:
            self.progress.made += bring_up_to_date(self.engine, held.thread, enough, self._pace())
            if self.models and not broken_off:
                self.progress.made += understand(self.engine, held.thread, enough)
        except Exception as error:  # noqa: BLE001 - outermost boundary of a thread: what failed stands in `progress`
            self.progress.failed += 1
            self.progress.last_error = f"{type(error).__name__}: {error}"
            _LOG.warning("thread %s was not brought up to date: %s", held.thread, type(error).__name__)
            self._resting[held.thread] = held.head  # and keep the lease, so that the others come first
            return 0
        if broken_off:
            self._let_go(held)
            return 0
        from backscroll.engine.knowledge.idle import flush_if_idle  # start-up: a prompt does without it

        head = held.head
        if flush_if_idle(self.engine, held.thread):  # imported, and ended long ago
            head = self._head(held.thread)
            self.progress.made += bring_up_to_date(self.engine, held.thread, enough, self._pace())
        self.engine.store.write(lambda tx: tx.set_progress(held.thread, JOB, head))
        self._preload(held.thread)
        self._held.pop(held.thread, None)
        self._resting.pop(held.thread, None)
        self.progress.threads += 1
        return 1

    def _pace(self) -> Pace | None:
        """Return the pacing beside callers; None for a worker that is run while a caller waits for it."""
        if self._thread is None or self._thread is not threading.current_thread():
            return None
        return Pace(self.engine.callers, self._stop.wait)

    def _preload(self, thread: str) -> None:
        """Load what the next recall is likely to need; useful only in the process the worker runs in."""
        if self._thread is None:
            return

        self.engine.callers.make_way()
        with contextlib.suppress(BackscrollError):  # the thread may be gone by now
            preload(self.engine.thread(thread))
        if thread in self._wanted:
            self._warm(thread)

    def _let_go(self, held: _WorkerThread) -> None:
        """Release a thread, so that another process can continue it; what was made so far is stored."""
        if self._held.pop(held.thread, None) is not None and self._now() < held.until:
            self.engine.store.write(lambda tx: tx.set_progress(held.thread, JOB, held.seen))

    def _now(self) -> int:
        return microseconds(self.engine.means.now())
