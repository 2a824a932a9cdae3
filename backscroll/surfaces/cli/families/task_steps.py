"""`task start`, `attempt`, `complete`, `incomplete`, `cancel`, `resume`, `rename`, `link`, `split`, `merge`: steps of tasks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from backscroll.errors import InvalidInput, NotFound
from backscroll.regular_files import read_bytes
from backscroll.surfaces.cli.command import command, flag, message_argument, option, thread_argument
from backscroll.surfaces.cli.given_words import read_words
from backscroll.surfaces.cli.references import message_named, thread_named
from backscroll.surfaces.cli.session import CliSession
from backscroll.surfaces.i18n import t
from backscroll.surfaces.screen.plain import one_line
from backscroll.surfaces.words.tasks import attempt_lines, of_step, step_lines

if TYPE_CHECKING:
    from backscroll.engine.thread import Thread
    from backscroll.engine.work.task_writer import TaskReport

HOWS = ("follows", "part of", "related", "split from")


def _task(*, required: bool = True) -> click.Argument:
    return click.Argument(["task"], metavar="TASK" if required else "[TASK]", required=required)


def _task_option() -> click.Option:
    return option("--task", metavar="TASK")


def _tell(session: CliSession, step: TaskReport) -> None:
    if session.as_json:
        session.screen.json(of_step(step))
    else:
        session.screen.lines(step_lines(step))


@command(
    "task-start",
    thread_argument(),
    click.Argument(["title"], metavar="[TITLE]", required=False),
    option("--from", "first", metavar="MESSAGE"),
    _task_option(),
    flag("--keep"),
    flag("--later"),
    flag("--again"),
    flag("--no-memory"),
)
def start(
    session: CliSession,
    thread: str,
    title: str | None,
    first: str | None,
    task: str | None,
    keep: bool,
    later: bool,
    again: bool,
    no_memory: bool,
) -> None:
    """Start a task, or add one for later."""
    # start-up: loaded when the command runs
    from backscroll.engine.work.task_steps import plan_task, start_task

    with session.engine() as engine:
        found = thread_named(engine, thread)
        if later:
            step = plan_task(found, title or "")
        else:
            at = None if first is None else message_named(engine, found, first)
            step = start_task(
                found, title or "", task=task, at=at, keep=keep, again=again, relevant=not no_memory
            )
    _tell(session, step)


@command(
    "task-attempt",
    thread_argument(),
    click.Argument(["result"], metavar="[RESULT]", required=False),
    _task_option(),
    flag("--ask"),
)
def attempt(session: CliSession, thread: str, result: str | None, task: str | None, ask: bool) -> None:
    """Submit a result for the user's verdict."""
    # start-up: loaded when the command runs
    from backscroll.engine.work.verdict import attempt_task, complete_task, refuse_task

    if ask and not session.screen.can_ask:
        raise InvalidInput(t("task.cannot_ask"), hint=t("task.cannot_ask_hint"))
    words = read_words(result)
    with session.engine() as engine:
        found = thread_named(engine, thread)
        step = attempt_task(found, words, task=task)
        if ask:
            session.screen.lines(attempt_lines(session.screen, step.task.attempts[-1]))
            if session.screen.asks(t("task.accept")):
                step = complete_task(found, step.task)
            else:
                step = refuse_task(found, click.prompt(t("task.say_why"), type=str, err=True), task=step.task)
    _tell(session, step)


@command(
    "task-complete",
    thread_argument(),
    _task(required=False),
    option("--note", metavar="TEXT"),
    flag("--keep"),
    flag("--program"),
)
def complete(
    session: CliSession, thread: str, task: str | None, note: str | None, keep: bool, program: bool
) -> None:
    """Accept the result."""
    # start-up: loaded when the command runs
    from backscroll.engine.work.verdict import complete_task

    with session.engine() as engine:
        found = thread_named(engine, thread)
        step = complete_task(found, task, manual=not program, note=note or "", keep=keep)
    _tell(session, step)


@command(
    "task-incomplete",
    thread_argument(),
    click.Argument(["feedback"], metavar="[FEEDBACK]", required=False),
    option("--image", "images", metavar="FILE", multiple=True),
    _task_option(),
    flag("--say"),
)
def incomplete(
    session: CliSession,
    thread: str,
    feedback: str | None,
    images: tuple[str, ...],
    task: str | None,
    say: bool,
) -> None:
    """Send the result back with feedback."""
    # start-up: loaded when the command runs
    from backscroll.engine.work.verdict import refuse_task

    pictures = [_bytes_of(name) for name in images]
    words = "" if feedback is None and pictures else read_words(feedback)
    with session.engine() as engine:
        found = thread_named(engine, thread)
        step = refuse_task(found, words, images=pictures, task=task, say=say or None)
        plan = _plan(found, step)
    if session.as_json:
        session.screen.json({**of_step(step), "plan": plan[0], "questions": plan[1]})
        return
    _tell(session, step)
    for title, lines in (("task.plan", plan[0]), ("task.questions", plan[1])):
        if lines:
            session.screen.line(t(title))
            session.screen.lines(f"  {n}. {one_line(line)}" for n, line in enumerate(lines, 1))


def _plan(thread: Thread, step: TaskReport) -> tuple[list[str], list[str]]:
    """Return the new plan, and the questions to ask."""
    # start-up: loaded when the command runs
    from backscroll.engine.work.task_memory import plan_shown

    found = plan_shown(thread, step.task)
    return list(found.steps), list(found.questions)


def _bytes_of(name: str) -> bytes:
    try:
        return read_bytes(Path(name).expanduser())
    except FileNotFoundError as error:
        raise NotFound(t("task.no_image", path=name)) from error
    except OSError as error:
        raise InvalidInput(t("task.bad_image", path=name, what=error.strerror or "")) from error


@command(
    "task-cancel",
    thread_argument(),
    click.Argument(["reason"], metavar="[REASON]", required=False),
    _task_option(),
    flag("--keep"),
)
def cancel(session: CliSession, thread: str, reason: str | None, task: str | None, keep: bool) -> None:
    """Cancel a task."""
    # start-up: loaded when the command runs
    from backscroll.engine.work.verdict import cancel_task

    with session.engine() as engine:
        step = cancel_task(thread_named(engine, thread), task, reason=reason or "", keep=keep)
    _tell(session, step)


@command("task-resume", thread_argument(), _task(), flag("--keep"))
def resume(session: CliSession, thread: str, task: str, keep: bool) -> None:
    """Resume a task."""
    # start-up: loaded when the command runs
    from backscroll.engine.work.task_steps import resume_task

    with session.engine() as engine:
        step = resume_task(thread_named(engine, thread), task, keep=keep)
    _tell(session, step)


@command("task-rename", thread_argument(), click.Argument(["title"], metavar="TITLE"), _task_option())
def rename(session: CliSession, thread: str, title: str, task: str | None) -> None:
    """Rename a task."""
    # start-up: loaded when the command runs
    from backscroll.engine.work.task_shape import title_task

    with session.engine() as engine:
        step = title_task(thread_named(engine, thread), title, task=task)
    _tell(session, step)


@command(
    "task-link",
    thread_argument(),
    _task(),
    click.Argument(["other"], metavar="TASK"),
    option("--how", type=click.Choice(HOWS), default="related", metavar="HOW", show_default=True),
)
def link(session: CliSession, thread: str, task: str, other: str, how: str) -> None:
    """Link two tasks."""
    # start-up: loaded when the command runs
    from backscroll.engine.work.task_shape import link_tasks

    with session.engine() as engine:
        step = link_tasks(thread_named(engine, thread), task, other, how)
    _tell(session, step)


@command(
    "task-split",
    thread_argument(),
    message_argument(),
    click.Argument(["title"], metavar="[TITLE]", required=False),
)
def split(session: CliSession, thread: str, message: str, title: str | None) -> None:
    """Split a task at a message."""
    # start-up: loaded when the command runs
    from backscroll.engine.work.task_shape import split_task

    with session.engine() as engine:
        found = thread_named(engine, thread)
        step = split_task(found, message_named(engine, found, message), title or "")
    _tell(session, step)


@command("task-merge", thread_argument(), _task(), click.Argument(["other"], metavar="TASK"))
def merge(session: CliSession, thread: str, task: str, other: str) -> None:
    """Merge two tasks."""
    # start-up: loaded when the command runs
    from backscroll.engine.work.task_shape import merge_tasks

    with session.engine() as engine:
        step = merge_tasks(thread_named(engine, thread), task, other)
    _tell(session, step)
