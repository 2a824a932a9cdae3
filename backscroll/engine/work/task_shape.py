"""Correct what is recorded about tasks: rename and link them, split one into two, merge two into one.

Nothing here ends a task. A wrong boundary loses nothing: merging shows the messages of both in prompts again, splitting
divides them at a message. Each is one stroke.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from backscroll.engine.core.checks import in_valid_text
from backscroll.engine.core.pen import Pen
from backscroll.engine.work.context import bring_back
from backscroll.engine.work.task_reader import all_tasks, find_task, messages_in, place_before
from backscroll.engine.work.task_writer import (
    TaskReport,
    checked_title,
    deciding_as,
    still_so,
    task_named,
    write_step,
)
from backscroll.errors import Conflict, InvalidInput
from backscroll.tasks.lifecycle.steps import checked_link, checked_step, holds
from backscroll.vocab.ids import Ref
from backscroll.vocab.part import Json
from backscroll.vocab.task import Task, TaskAct

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import ThreadScope


@in_valid_text
def title_task(thread: ThreadScope, title: str, *, task: str | Task | None = None) -> TaskReport:
    """Rename a task; with an empty title it is named after its first message again."""
    words = checked_title(title)
    found = task_named(thread, all_tasks(thread), task)

    def work(pen: Pen) -> None:
        head: dict[str, Json] = {"act": TaskAct.TITLE.value, "task": found.id, "sources": []}
        write_step(pen, head, {"title": words})

    thread.stroke(work)
    return TaskReport(TaskAct.TITLE, find_task(all_tasks(thread), found.id))


def link_tasks(
    thread: ThreadScope, first: str | Task, second: str | Task, how: str = "related"
) -> TaskReport:
    """Link two tasks."""
    tasks = all_tasks(thread)
    one, other = task_named(thread, tasks, first), task_named(thread, tasks, second)
    if one.id == other.id:
        raise InvalidInput("a task cannot be linked to itself", hint="name two different tasks")
    way = checked_link(how)

    def work(pen: Pen) -> None:
        head: dict[str, Json] = {"act": TaskAct.LINK.value, "task": one.id, "other": other.id, "how": way}
        write_step(pen, {**head, "sources": []})

    thread.stroke(work)
    return TaskReport(TaskAct.LINK, find_task(all_tasks(thread), one.id))


@in_valid_text
def split_task(thread: ThreadScope, message: Ref, title: str = "", *, manual: bool = True) -> TaskReport:
    """Split a task at a message. Cleared messages of the old task return to prompts; nothing else changes."""
    words = checked_title(title)
    tasks = all_tasks(thread)
    position = thread.message(message).position
    old = next((t for t in tasks if holds(t.spans, position)), None)
    if old is None:
        raise Conflict(
            f"message {message.short} belongs to no task",
            hint="run `backscroll task start --from` to start one there",
        )
    checked_step(old, TaskAct.SPLIT)
    inside = thread.reading(lambda view: messages_in(view, old))
    if not any(m.position < position for m in inside):
        raise Conflict(
            f"task {old.id} begins with message {message.short}", hint="split it at a later message"
        )

    def work(pen: Pen) -> str:
        still_so(pen, tasks)
        group = pen.state.head + 1
        bring_back(pen, {old.id, *old.merged}, group)
        name = str(pen.state.head + 1)
        after = place_before(pen.view, message).hex()
        head: dict[str, Json] = {
            "act": TaskAct.SPLIT.value,
            "task": name,
            "other": old.id,
            "after": after,
            "as": deciding_as(manual),
            "sources": [],
            "group": group,
        }
        write_step(pen, head, {"title": words} if words else None)
        return name

    name = thread.stroke(work)
    return TaskReport(
        TaskAct.SPLIT, find_task(all_tasks(thread), name), rests=find_task(all_tasks(thread), old.id)
    )


def merge_tasks(
    thread: ThreadScope, first: str | Task, second: str | Task, *, manual: bool = True
) -> TaskReport:
    """Merge two tasks into one, with all messages back in prompts; nothing is lost."""
    tasks = all_tasks(thread)
    one, other = task_named(thread, tasks, first), task_named(thread, tasks, second)
    if one.id == other.id:
        raise InvalidInput("a task cannot be merged with itself", hint="name two different tasks")

    def work(pen: Pen) -> int:
        still_so(pen, tasks)
        group = pen.state.head + 1
        back = bring_back(pen, {one.id, *one.merged, other.id, *other.merged}, group)
        head: dict[str, Json] = {"act": TaskAct.MERGE.value, "task": one.id, "other": other.id, "sources": []}
        write_step(pen, {**head, "as": deciding_as(manual), "group": group})
        return back

    back = thread.stroke(work)
    return TaskReport(TaskAct.MERGE, find_task(all_tasks(thread), one.id), back=back)
