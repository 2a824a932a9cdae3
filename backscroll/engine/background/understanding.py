"""Have a model read the turns, texts and tasks of a thread in the background, as soon as they are due.

Owns the order (turns first: one answer also gives the gist, preferences, whether a task begins), the daily allowance, and the OS
thread beside callers. No caller waits for it: rules serve until the answer is there. Imported turns wait until the user has
confirmed the price.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from backscroll.engine.core.pacing import Progress
from backscroll.engine.models.calls import abort_calls
from backscroll.engine.work.task_reader import all_tasks
from backscroll.errors import BackscrollError
from backscroll.llm.providers import choose_provider
from backscroll.record.ports import Reader, Writer
from backscroll.tasks.memory.memory import ENDED
from backscroll.vocab.event import Kind
from backscroll.vocab.task import Task, TaskState

if TYPE_CHECKING:
    from backscroll.config import Settings
    from backscroll.engine.core.thread_scope import EngineScope, ThreadScope

#: The name under which the store keeps up to which event a model was asked about a thread's tasks.
TASKS = "understood:tasks"
_MANY = 500  # turns and texts of one thread that are processed at a time
_NEWEST = 32  # turns that are checked if the older ones were checked before
_GRACE = 5.0  # seconds that a call in progress may still take when the engine is closed


def is_wanted(settings: Settings) -> bool:
    """Return whether models are asked automatically: one is configured, and the settings do not disable it."""
    if settings.understanding != "auto":
        return False
    try:
        provider = choose_provider(settings.provider)
    except BackscrollError:
        return False  # a command that asks for a model reports what is wrong with the settings
    return provider is not None and bool(provider.reader)


def understand(
    engine: EngineScope, thread: str, stop: Callable[[], bool] = lambda: False, *, newest: int | None = None
) -> int:
    """Have a model read and write what is due for a thread, within the daily allowance; return how many artefacts it made.

    `newest`: look only at so many turns from the end.
    """
    from backscroll.engine.knowledge.model_turns import read_pending  # start-up: only with a model
    from backscroll.engine.tree.model_summaries import write_pending

    done = read_pending(engine, thread, _MANY, stop, background=True, newest=newest)
    if not stop():
        done += write_pending(engine, thread, _MANY, stop)
    if not stop():
        done += _settle_tasks(engine, thread, stop)
    return done


def _settle_tasks(engine: EngineScope, thread: str, stop: Callable[[], bool]) -> int:
    """Write outcomes and lessons of tasks that ended, and plans and questions for those sent back, since the last run."""
    head = engine.store.read(lambda reader: _looked_upto(reader, thread))
    if head is None:
        return 0

    at, done = engine.thread(thread), 0
    for task in all_tasks(at):
        if stop():
            return done
        done += _understand_task(at, task)

    def note(tx: Writer) -> None:
        tx.set_progress(thread, TASKS, head)

    engine.store.write(note)
    return done


def _looked_upto(reader: Reader, thread: str) -> int | None:
    """Return the newest event if a step of a task was taken since the last run; else None."""
    state, seen = reader.thread(thread), reader.progress(thread, TASKS)
    if state is None or state.head == seen:
        return None
    return state.head if any(e.kind is Kind.TASKED for e in reader.others(thread, seen + 1)) else None


def _understand_task(thread: ThreadScope, task: Task) -> int:
    from backscroll.engine.models.extraction import is_imported  # start-up: only with a model
    from backscroll.engine.work.memory.plans import followups_for, plan_for, write_memory

    first = task.first
    if first is not None and thread.store.read(lambda reader: is_imported(reader, first)):
        return 0
    if task.state in ENDED and task.state is not TaskState.INCOMPLETE:
        return int(write_memory(thread, task, background=True) == "model")
    if task.state is TaskState.INCOMPLETE:
        plan = plan_for(thread, task, ask=True, background=True)
        followups_for(thread, task, ask=True, background=True)
        return int(plan.by == "model")
    return 0


class UnderstandingWorker:
    """An OS thread that has a model process the threads this engine writes to."""

    def __init__(self, engine: EngineScope) -> None:
        self.engine = engine
        self.progress = Progress()
        self._due: dict[str, None] = {}
        self._known: set[str] = set()  # threads that were checked as a whole
        self._wake, self._stop = threading.Event(), threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def tell(self, thread: ThreadScope) -> None:
        """Queue a thread that was written to."""
        with self._lock:
            self._due[thread.id] = None
            if self._thread is None and not self._stop.is_set():
                name = "backscroll-understanding"
                self._thread = threading.Thread(target=self._live, name=name, daemon=True)
                self._thread.start()
        self._wake.set()

    def stop(self) -> None:
        """Stop permanently; a call in progress gets a few seconds, then it is aborted."""
        self._stop.set()
        self._wake.set()
        worker = self._thread
        if worker is None or worker is threading.current_thread():
            return
        worker.join(_GRACE)
        while worker.is_alive():
            abort_calls(worker.ident)
            worker.join(0.2)

    def _live(self) -> None:
        while not self._stop.is_set():
            self._wake.clear()
            while (name := self._next()) is not None and not self._stop.is_set():
                self._one(name)
            self._wake.wait()

    def _next(self) -> str | None:
        with self._lock:
            name = next(iter(self._due), None)
            if name is not None:
                del self._due[name]
            return name

    def _one(self, name: str) -> None:
        newest = _NEWEST if name in self._known else None
        try:
            self.progress.made += understand(self.engine, name, self._stop.is_set, newest=newest)
            self.progress.threads += 1
            self._known.add(name)
        except BackscrollError as error:  # recorded, and retried at the next message
            self.progress.failed += 1
            self.progress.last_error = f"{type(error).__name__}: {error}"
