"""The verdict: the user accepts a result, sends it back, or cancels the task.

Each is one stroke. Completed: the context is released, and memories are derived from the task. Sent back: the request, the
last turn and the feedback stay in full, the middle is condensed to its essentials. Cancelled: listed as cancelled, and
cleared from prompts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from backscroll.engine.core.checks import in_valid_text
from backscroll.engine.core.pen import Pen
from backscroll.engine.log import operations
from backscroll.engine.work.context import clear, compress, going
from backscroll.engine.work.task_memory import essentials_told, summary_told
from backscroll.engine.work.task_reader import all_tasks, find_task
from backscroll.engine.work.task_writer import (
    TaskReport,
    checked_words,
    deciding_as,
    flush,
    resting_on,
    still_so,
    task_named,
    write_resume,
    write_step,
)
from backscroll.errors import InvalidInput
from backscroll.formats.sources.media_type import media_type
from backscroll.tasks.lifecycle.steps import checked_step
from backscroll.vocab.message import Content
from backscroll.vocab.part import Json, Media, Part, Text
from backscroll.vocab.task import Task, TaskAct, TaskState

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import ThreadScope

#: The callback that asks about a result: True accepts it, a text sends it back.
Ask = Callable[[Task], bool | str]


@in_valid_text
def attempt_task(
    thread: ThreadScope, result: str, *, task: str | Task | None = None, manual: bool = False
) -> TaskReport:
    """Submit a result for review; the task waits for the verdict. After feedback, this resumes the task."""
    words = checked_words(result, "result")
    tasks = all_tasks(thread)
    found = task_named(thread, tasks, task)
    resumes = found.state is TaskState.INCOMPLETE
    if not resumes:
        checked_step(found, TaskAct.ATTEMPT)

    def work(pen: Pen) -> None:
        still_so(pen, tasks)
        group = pen.state.head + 1
        if resumes:
            write_resume(pen, found, group, manual=manual)
        view = pen.view
        head: dict[str, Json] = {
            "act": TaskAct.ATTEMPT.value,
            "task": found.id,
            "as": deciding_as(manual),
            "group": group,
            **resting_on(view, found),
        }
        write_step(pen, head, {"result": words})

    thread.stroke(work)
    return TaskReport(TaskAct.ATTEMPT, find_task(all_tasks(thread), found.id))


@in_valid_text
def complete_task(
    thread: ThreadScope,
    task: str | Task | None = None,
    *,
    manual: bool = True,
    note: str = "",
    keep: bool = False,
) -> TaskReport:
    """Accept the result: derive memories and release the context (with `keep`: later)."""
    return _end(thread, task, TaskAct.COMPLETE, {"note": note.strip()}, manual=manual, keep=keep)


@in_valid_text
def cancel_task(
    thread: ThreadScope,
    task: str | Task | None = None,
    *,
    reason: str = "",
    manual: bool = True,
    keep: bool = False,
) -> TaskReport:
    """Cancel the task; it stays listed as cancelled and leaves prompts."""
    return _end(thread, task, TaskAct.CANCEL, {"reason": reason.strip()}, manual=manual, keep=keep)


def _end(
    thread: ThreadScope,
    task: str | Task | None,
    act: TaskAct,
    words: dict[str, str],
    *,
    manual: bool,
    keep: bool,
) -> TaskReport:
    tasks = all_tasks(thread)
    found = task_named(thread, tasks, task)
    checked_step(found, act)
    state = TaskState.COMPLETED if act is TaskAct.COMPLETE else TaskState.CANCELLED

    out = None if keep or found.cleared else thread.reading(lambda view: going(view, found))
    release = compress(thread, out, summary_told(thread, found), state)

    def work(pen: Pen) -> None:
        still_so(pen, tasks)
        group = pen.state.head + 1
        head: dict[str, Json] = {"act": act.value, "task": found.id, "as": deciding_as(manual), "sources": []}
        write_step(pen, {**head, "group": group}, words if any(words.values()) else None)
        if release is not None:
            clear(pen, release, group)
        flush(pen, found, group)

    thread.stroke(work)
    released = () if release is None else (release,)
    return TaskReport(act, find_task(all_tasks(thread), found.id), released)


@in_valid_text
def refuse_task(
    thread: ThreadScope,
    feedback: str,
    *,
    images: Sequence[bytes] = (),
    task: str | Task | None = None,
    manual: bool = True,
    say: bool | None = None,
) -> TaskReport:
    """Send the result back: keep the essentials, condense the middle of the task, keep the feedback in full.

    With `say` the feedback is also added to the history as the user's message; the default is to do so if there are images,
    which a model could not see otherwise.
    """
    words = feedback.strip() if images and isinstance(feedback, str) else checked_words(feedback, "feedback")  # pyright: ignore[reportUnnecessaryIsInstance]
    pictures = [_checked_image(image) for image in images]
    tasks = all_tasks(thread)
    found = task_named(thread, tasks, task)
    resumes = found.state is TaskState.INCOMPLETE
    if not resumes:
        checked_step(found, TaskAct.INCOMPLETE)

    out = None if found.cleared else thread.reading(lambda view: going(view, found, middle=True))
    release = compress(thread, out, essentials_told(thread), TaskState.INCOMPLETE)

    def work(pen: Pen) -> None:
        still_so(pen, tasks)
        group = pen.state.head + 1
        if resumes:  # more feedback: it was resumed in between
            write_resume(pen, found, group, manual=manual)
        names = [hashlib.sha256(data).hexdigest() for data in pictures]
        head: dict[str, Json] = {
            "act": TaskAct.INCOMPLETE.value,
            "task": found.id,
            "as": deciding_as(manual),
            "sources": [],
        }
        event = write_step(
            pen,
            {**head, **({"media": names} if names else {}), "group": group},
            {"feedback": words},
        )
        for name, data in zip(names, pictures, strict=True):
            pen.tx.put_blob(name, data)
            pen.tx.link_blob(name, event.id)
        if say or (say is None and pictures):
            _say(pen, words, pictures, group)
        if release is not None:
            clear(pen, release, group)
        flush(pen, found, group)

    thread.stroke(work)
    return TaskReport(
        TaskAct.INCOMPLETE, find_task(all_tasks(thread), found.id), () if release is None else (release,)
    )


def _say(pen: Pen, words: str, pictures: Sequence[bytes], group: int) -> None:
    """Add the feedback to the history as part of the step, so that undo removes it again."""
    parts: list[Part] = [Text(words)] if words else []
    parts += [Media(media_type(data=data), data=data) for data in pictures]
    newest = pen.view.page(1, newest_first=True, gone=True)
    after = newest[0][0].message if newest else None
    operations.insert(pen, "user", Content(tuple(parts)), after, head={"group": group})


def _checked_image(data: Any) -> bytes:
    if not isinstance(data, bytes | bytearray) or not data:
        raise InvalidInput("an image must be given as its bytes", hint="read the file first")
    return bytes(data)


def put_before(thread: ThreadScope, result: str, ask: Ask, *, task: str | Task | None = None) -> TaskReport:
    """Submit a result and ask at once: True accepts it; a text (or False) sends it back."""
    attempted = attempt_task(thread, result, task=task)
    answer = ask(attempted.task)
    if answer is True:
        return complete_task(thread, attempted.task)
    feedback = answer.strip() if isinstance(answer, str) else ""
    return refuse_task(thread, feedback or "not accepted", task=attempted.task)
