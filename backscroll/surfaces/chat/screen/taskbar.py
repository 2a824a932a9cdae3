"""The task bar: the current task, its state, and the keys that change it.

Owns the text of the bar, and running its keys: start a new task, mark it as completed, mark it as incomplete.
Refuses: the effect of those steps on the context (`engine/work/tasks`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from backscroll.surfaces.i18n import t
from backscroll.surfaces.screen.cells import cut, width
from backscroll.surfaces.screen.plain import one_line
from backscroll.vocab.task import TaskState

if TYPE_CHECKING:
    from backscroll.surfaces.chat.talk import Talk
    from backscroll.vocab.task import Task

_SIGNS = {
    TaskState.NOT_STARTED: "○",
    TaskState.IN_PROGRESS: "▶",
    TaskState.COMPLETED: "✓",
    TaskState.INCOMPLETE: "↺",
    TaskState.CANCELLED: "✗",
}


def task_line(task: Task | None, room: int) -> str:
    """Return the bar in the available width: the keys are dropped before the title is cut."""
    if task is None:
        head, keys = t("chat.no_task"), t("chat.task_keys_none")
        brief = t("chat.task_keys_none_short")
    else:
        state = t(f"task_states.{task.state}")
        head = f"{_SIGNS[task.state]} {one_line(task.title) or t('words.untitled')} ({state})"
        keys, brief = t("chat.task_keys"), t("chat.task_keys_short")
    for said in (keys, brief):
        if width(head) + width(said) + 2 <= room:
            return f"{head}  {said}"
    if width(brief) + 14 <= room:
        return f"{cut(head, room - width(brief) - 2)}  {brief}"
    return cut(head, room)


def start_task(talk: Talk) -> None:
    """Start New Task: ask for its title; the current one is ended as it is."""
    title = talk.ask(t("chat.task_title"))
    if title is None:
        return
    task = talk.thread.tasks.start(title.strip())
    talk.show(t("chat.task_started", title=one_line(task.title)))


def complete_task(talk: Talk) -> None:
    """Mark as Completed."""
    task = talk.thread.tasks.current()
    if task is None:
        talk.show(t("chat.no_task_to_end"))
        return
    done = talk.thread.tasks.complete()
    talk.show(t("chat.task_completed", title=one_line(done.title)))


def return_task(talk: Talk) -> None:
    """Mark as Incomplete: ask for feedback, which the model gets with the next message."""
    task = talk.thread.tasks.current()
    if task is None:
        talk.show(t("chat.no_task_to_end"))
        return
    feedback = talk.ask(t("chat.task_feedback"), lines=True)
    if feedback is None:
        return
    done = talk.thread.tasks.incomplete(feedback.strip())
    talk.show(t("chat.task_returned", title=one_line(done.title)))
