"""Start a task, resume one, or add one for later: each is one stroke, including its effect on the context.

Every function plans while reading (summarizes what leaves prompts), then writes all of its events in one group, so that
`undo` reverts the whole step. A step that was planned against a state that changed meanwhile is rejected as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from backscroll.engine.core.checks import in_valid_text
from backscroll.engine.core.lineage import View
from backscroll.engine.core.pen import Pen
from backscroll.engine.work.context import (
    ContextRelease,
    PendingRelease,
    bring_back,
    clear,
    compress,
    going,
    make_unowned,
)
from backscroll.engine.work.task_memory import relevant_to, summary_told
from backscroll.engine.work.task_reader import (
    all_tasks,
    find_task,
    newest_place,
    place_before,
)
from backscroll.engine.work.task_writer import (
    TaskReport,
    checked_title,
    deciding_as,
    still_so,
    task_named,
    write_resume,
    write_step,
)
from backscroll.errors import Conflict, InvalidInput
from backscroll.tasks.lifecycle.steps import checked_step, current_of
from backscroll.tasks.lifecycle.tiers import alike, same_title
from backscroll.vocab.ids import Ref
from backscroll.vocab.part import Json
from backscroll.vocab.task import Task, TaskAct, TaskState

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import ThreadScope


@in_valid_text
def plan_task(thread: ThreadScope, title: str) -> TaskReport:
    """Add a task for later; nothing else changes."""
    words = checked_title(title)
    if not words:
        raise InvalidInput("a task for later needs a title", hint="say in a few words what is to be done")

    def work(pen: Pen) -> str:
        head: dict[str, Json] = {"act": TaskAct.PLAN.value, "task": str(pen.state.head + 1), "sources": []}
        return str(write_step(pen, head, {"title": words}).seq)

    name = thread.stroke(work)
    return TaskReport(TaskAct.PLAN, find_task(all_tasks(thread), name))


@in_valid_text
def start_task(
    thread: ThreadScope,
    title: str = "",
    *,
    task: str | Task | None = None,
    at: Ref | None = None,
    keep: bool = False,
    relevant: bool = True,
    again: bool = False,
    manual: bool = True,
) -> TaskReport:
    """Start a task: what came before is summarized, saved and cleared from prompts; the new task begins with what matters.

    `at` is the message it begins with (by default the next one); `task` names one that was added for later. With `keep`
    nothing leaves prompts. A title that was cancelled before requires `again`.
    """
    words = checked_title(title)
    tasks = all_tasks(thread)
    noted = _find_noted(tasks, task, words)
    shadow = _find_cancelled(tasks, words or ("" if noted is None else noted.title), again=again)
    before = current_of(tasks)

    def plan_start(view: View) -> tuple[bytes, list[PendingRelease]]:
        after = newest_place(view) if at is None else place_before(view, at)
        if at is not None and before is not None and after < before.spans[-1][0]:
            raise Conflict(
                f"message {at.short} belongs to an earlier task",
                hint="`backscroll task split` parts a task in two",
            )
        return after, [] if keep else _outgoing(view, tasks, after)

    after, leaving = thread.reading(plan_start)
    releases = _summarise_leaving(thread, leaving)
    loaded = relevant_to(thread, words or _words_at(thread, at)) if relevant else ()

    def work(pen: Pen) -> str:
        still_so(pen, tasks)
        group = pen.state.head + 1
        for release in releases:  # compressed and saved: now clear
            clear(pen, release, group, after)
        name = str(pen.state.head + 1) if noted is None else noted.id
        head: dict[str, Json] = {
            "act": TaskAct.START.value,
            "task": name,
            "after": after.hex(),
            "place": after.hex(),
            "as": deciding_as(manual),
            "sources": [],
            "group": group,
        }
        if loaded:
            head["relevant"] = list(loaded)
        if (previous := before or _last(tasks)) is not None:
            head["follows"] = previous.id
        write_step(pen, head, {"title": words} if noted is None else None)
        return name

    name = thread.stroke(work)
    made = find_task(all_tasks(thread), name)
    return TaskReport(TaskAct.START, made, tuple(releases), 0, before, shadow, loaded)


@in_valid_text
def resume_task(
    thread: ThreadScope, task: str | Task, *, keep: bool = False, manual: bool = True
) -> TaskReport:
    """Resume a task: its messages return to prompts, those of the task worked on meanwhile leave them."""
    tasks = all_tasks(thread)
    found = task_named(thread, tasks, task)
    checked_step(found, TaskAct.RESUME)
    if found.current and found.state is TaskState.IN_PROGRESS:
        raise Conflict(
            f"task {found.id} is already in progress", hint="run `backscroll task status` for details"
        )
    before = current_of(tasks)
    rests = None if before is None or before.id == found.id else before

    def plan_resume(view: View) -> list[PendingRelease]:
        if keep or rests is None:
            return []
        return _outgoing(view, [t for t in tasks if t.id != found.id], newest_place(view), outside=False)

    releases = _summarise_leaving(thread, thread.reading(plan_resume))

    def work(pen: Pen) -> int:
        still_so(pen, tasks)
        group = pen.state.head + 1
        for release in releases:
            clear(pen, release, group)
        back = bring_back(pen, {found.id, *found.merged}, group) if found.cleared else 0
        write_resume(pen, found, group, manual=manual)
        return back

    back = thread.stroke(work)
    return TaskReport(TaskAct.RESUME, find_task(all_tasks(thread), found.id), tuple(releases), back, rests)


def _find_noted(tasks: Sequence[Task], task: str | Task | None, title: str) -> Task | None:
    """Return the planned task that now begins: by name, or by the same title."""
    if task is not None:
        found = find_task(tasks, task.id if isinstance(task, Task) else task)
        checked_step(found, TaskAct.START)
        return found
    waiting = [t for t in tasks if t.state is TaskState.NOT_STARTED and title and same_title(t.title, title)]
    return waiting[-1] if waiting else None


def _find_cancelled(tasks: Sequence[Task], title: str, *, again: bool) -> Task | None:
    """Return a similar task that was cancelled: it must not be restarted by accident."""
    gone = [t for t in tasks if t.state is TaskState.CANCELLED]
    same = [t for t in gone if title and same_title(t.title, title)]
    if same and not again:
        last = same[-1]
        why = f": {last.reason}" if last.reason else ""
        raise Conflict(
            f"task {last.id} “{last.title}” was cancelled on {last.ended[:10]}{why}",
            hint="say `again` (--again) to start it anyway, or give it another title",
        )
    close = [t for t in gone if title and alike(t.title, title)]
    return same[-1] if same else close[-1] if close else None


def _outgoing(
    view: View, tasks: Sequence[Task], after: bytes, *, outside: bool = True
) -> list[PendingRelease]:
    """Return what leaves prompts when something else begins: every task still in them, and messages outside of tasks."""
    out: list[PendingRelease] = []
    for task in (*tasks, *([make_unowned(view, tasks, after)] if outside else [])):
        spans = tuple(
            (low, after if high is None or high > after else high) for low, high in task.spans if low < after
        )
        if spans and not task.cleared and (found := going(view, replace(task, spans=spans))) is not None:
            out.append(found)
    return out


def _summarise_leaving(thread: ThreadScope, leaving: Sequence[PendingRelease]) -> list[ContextRelease]:
    told = [summary_told(thread, g.task) if g.task.id else None for g in leaving]
    made = [compress(thread, g, t) for g, t in zip(leaving, told, strict=True)]
    return [release for release in made if release is not None]


def _words_at(thread: ThreadScope, at: Ref | None) -> str:
    return "" if at is None else thread.legible.message(at).text


def _last(tasks: Sequence[Task]) -> Task | None:
    begun = [t for t in tasks if t.spans]
    return max(begun, key=lambda t: t.spans[-1][0]) if begun else None
