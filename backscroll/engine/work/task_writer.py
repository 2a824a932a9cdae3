"""Write the steps of tasks: what each event contains, and the checks before it is written.

Every step records its place in the history and who decided; texts about messages name their sources, so that they can be
withheld when one changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from backscroll.engine.core.lineage import View
from backscroll.engine.core.pen import Pen
from backscroll.engine.work.task_reader import find_task, messages_in, newest_place, tasks_of
from backscroll.errors import Conflict, InvalidInput
from backscroll.tasks.lifecycle.steps import current_of
from backscroll.vocab.event import Event, Kind
from backscroll.vocab.part import Json
from backscroll.vocab.task import Task, TaskAct, TaskState

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import ThreadScope
    from backscroll.engine.work.context import ContextRelease

TITLE_LENGTH = 200
_LISTED = 64  # messages that a result lists one by one; more are listed only as runs


@dataclass(frozen=True, slots=True)
class TaskReport:
    """What a step did, as shown to users and programs."""

    act: TaskAct
    task: Task
    released: tuple[ContextRelease, ...] = ()  # what left the prompt
    back: int = 0  # messages that returned to it
    rests: Task | None = None  # another, unfinished task that is no longer worked on
    cancelled: Task | None = None  # a similar task that was cancelled earlier
    relevant: tuple[str, ...] = ()  # memories that a new task begins with


def checked_title(title: str) -> str:
    """Return a title as one line."""
    if not isinstance(title, str):  # pyright: ignore[reportUnnecessaryIsInstance] - callers are not always type-checked
        raise InvalidInput("the title of a task must be text")
    words = " ".join(title.split())
    if len(words) > TITLE_LENGTH:
        raise InvalidInput(
            f"the title has {len(words)} characters",
            hint=f"use at most {TITLE_LENGTH}; details belong into a message",
        )
    return words


def checked_words(text: str, what: str) -> str:
    """Return a text that must not be empty."""
    if not isinstance(text, str) or not text.strip():  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"the {what} is empty", hint="say it in words")
    return text.strip()


def task_named(thread: ThreadScope, tasks: Sequence[Task], name: str | Task | None) -> Task:
    """Return the task that a step is about: by its id, or the current one."""
    if name is not None:
        return find_task(tasks, name.id if isinstance(name, Task) else name)
    found = current_of(tasks)
    if found is None:
        waiting = [t.id for t in tasks if t.state in (TaskState.IN_PROGRESS, TaskState.INCOMPLETE)]
        hint = (
            f"name one: {', '.join(waiting[-8:])}" if waiting else "run `backscroll task start` to start one"
        )
        raise Conflict(f"thread {thread.id[:8]} has no current task", hint=hint)
    return found


def write_resume(pen: Pen, task: Task, group: int, *, manual: bool) -> None:
    """Record that work on a task resumes here."""
    place = newest_place(pen.view).hex()
    head: dict[str, Json] = {"act": TaskAct.RESUME.value, "task": task.id, "after": place, "sources": []}
    write_step(pen, {**head, "as": deciding_as(manual), "group": group})


def deciding_as(manual: bool) -> str:
    """Return who decides: a person, or a program."""
    return "person" if manual else "program"


def write_step(pen: Pen, head: dict[str, Json], body: Json = None) -> Event:
    """Write one step, with the place in the history where it was taken."""
    place = newest_place(pen.view).hex()
    return pen.write(Kind.TASKED, head={"place": place, **head}, body=body)


def flush(pen: Pen, task: Task, group: int) -> None:
    """Mark the last turns of an ended task as due for analysis: they are unlikely to change."""
    pen.write(Kind.FLUSHED, head={"task": task.id, "group": group})


def still_so(pen: Pen, tasks: Sequence[Task]) -> None:
    """Raise Conflict if another step was taken since this one was planned."""

    def standing(found: Sequence[Task]) -> list[Any]:
        return [(t.id, t.state, t.spans, len(t.attempts), t.merged) for t in found]

    if standing(tasks_of(pen.view)) != standing(tasks):
        raise Conflict(
            "conflict: another step was taken since",
            hint="check `backscroll task status`, then retry",
        )


def resting_on(view: View, task: Task) -> dict[str, Json]:
    """Return the messages that a result is about: all of its task so far, as runs of numbers."""
    seqs = sorted(m.id.seq for m in messages_in(view, task))
    runs: list[list[int]] = []
    for seq in seqs:
        if runs and seq == runs[-1][1] + 1:
            runs[-1][1] = seq
        else:
            runs.append([seq, seq])
    listed = [str(m.id) for m in messages_in(view, task)] if len(seqs) <= _LISTED else None
    return {"runs": runs, **({} if listed is None else {"sources": listed})}
