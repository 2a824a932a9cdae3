"""Compare two tasks of a thread, or of two threads. Reads their messages; `tasks/lifecycle/comparison` does the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from backscroll.engine.work.task_reader import all_tasks, find_task, task_messages
from backscroll.errors import InvalidInput
from backscroll.tasks.lifecycle.comparison import Comparison, ComparisonSide, compare, only, side_of
from backscroll.vocab.task import Task

__all__ = ["Comparison", "ComparisonSide", "compare_tasks", "only"]

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import ThreadScope


def compare_tasks(thread: ThreadScope, first: str | Task, second: str | Task) -> Comparison:
    """Return what two tasks share and where they differ; `3f2a9c1e.17` names a task of another thread."""
    (home, one), (abroad, other) = _resolve_task(thread, first), _resolve_task(thread, second)
    if (home.id, one.id) == (abroad.id, other.id):
        raise InvalidInput("a task cannot be compared with itself", hint="name two different tasks")
    return compare(
        side_of(one, task_messages(home, one)),
        side_of(other, task_messages(abroad, other)),
    )


def _resolve_task(thread: ThreadScope, task: str | Task) -> tuple[ThreadScope, Task]:
    if isinstance(task, Task):
        home = thread if task.thread == thread.id else thread.engine.thread(task.thread)
        return home, find_task(all_tasks(home), task.id)
    before, dot, name = task.rpartition(".")
    home = thread.engine.thread(before) if dot and before else thread
    return home, find_task(all_tasks(home), name if dot else task)
