"""`task status`, `list`, `show`, `compare`, `boundaries`: looking at tasks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from backscroll.surfaces.cli.command import command, option, thread_argument
from backscroll.surfaces.cli.references import thread_named
from backscroll.surfaces.cli.session import CliSession
from backscroll.surfaces.i18n import count, t
from backscroll.surfaces.screen.plain import one_line
from backscroll.surfaces.screen.table import Column, table
from backscroll.surfaces.words.done import number_of
from backscroll.surfaces.words.tasks import listing, name_task, of_task, page_of, reason_words, state_of
from backscroll.vocab.task import TaskState

if TYPE_CHECKING:
    from backscroll.engine.thread import Thread
    from backscroll.engine.work.comparison import Comparison, ComparisonSide
    from backscroll.surfaces.screen.screen import Screen
    from backscroll.vocab.ids import Ref
    from backscroll.vocab.part import Json
    from backscroll.vocab.task import Task


@command("task-status", thread_argument())
def status(session: CliSession, thread: str) -> None:
    """Show the current task."""
    # start-up: loaded when the command runs
    from backscroll.engine.work.boundaries import suggestion
    from backscroll.engine.work.task_memory import PlanText, plan_shown

    with session.engine() as engine:
        found = thread_named(engine, thread)
        tasks = found.tasks
        current, every = tasks.current(), tasks.list()
        seems = suggestion(found)
        plan = PlanText() if current is None else plan_shown(found, current)
        messages = 0 if current is None else len(tasks.messages(current))
    screen = session.screen
    if session.as_json:
        screen.json(
            {
                "current": None if current is None else of_task(current),
                "open": [x.id for x in every if _is_open(x) and not x.current],
                "plan": list(plan.steps),
                "questions": list(plan.questions),
                "suggestion": None if seems is None else {"what": seems.what, "message": str(seems.message)},
            }
        )
        return
    if current is None:
        screen.line(t("task.none"))
    else:
        screen.lines(page_of(screen, current, messages))
        screen.lines(_number_lines("task.plan", plan.steps))
        screen.lines(_number_lines("task.questions", plan.questions))
    resting = [x for x in every if _is_open(x) and not x.current]
    if resting:
        screen.line(t("task.resting", tasks=", ".join(name_task(x) for x in resting)))
    if seems is not None:
        screen.line(t(f"task_seems.{seems.what}"))


def _is_open(task: Task) -> bool:
    return task.state in (TaskState.NOT_STARTED, TaskState.IN_PROGRESS, TaskState.INCOMPLETE)


def _number_lines(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield t(title)
        yield from (f"  {n}. {one_line(line)}" for n, line in enumerate(lines, 1))


@command(
    "task-list",
    thread_argument(),
    option("--state", type=click.Choice([s.value for s in TaskState]), metavar="STATE"),
)
def list_(session: CliSession, thread: str, state: str | None) -> None:
    """List the tasks of a thread."""
    with session.engine() as engine:
        tasks = thread_named(engine, thread).tasks.list(state)
    if session.as_json:
        session.screen.json([of_task(task) for task in tasks])
    elif not tasks:
        session.screen.line(t("task.no_tasks"))
    else:
        session.screen.lines(listing(session.screen, tasks))


@command("task-show", thread_argument(), click.Argument(["task"], metavar="[TASK]", required=False))
def show(session: CliSession, thread: str, task: str | None) -> None:
    """Show the details of a task."""
    # start-up: loaded when the command runs
    from backscroll.engine.work.task_writer import task_named

    with session.engine() as engine:
        found = thread_named(engine, thread)
        every = found.tasks.list()
        # Without a name: the current task, else the latest.
        latest = task if task is not None or found.tasks.current() or not every else every[-1].id
        one = task_named(found, every, latest)
        messages = found.tasks.messages(one)
        numbers = [number_of(found, m.id) for m in (messages[0], messages[-1])] if messages else []
    if session.as_json:
        session.screen.json({**of_task(one), "messages": [str(m.id) for m in messages]})
        return
    session.screen.lines(page_of(session.screen, one, len(messages)))
    if numbers:
        session.screen.line()
        session.screen.line(t("task.stands", first=numbers[0], last=numbers[-1]))


@command(
    "task-compare",
    thread_argument(),
    click.Argument(["task"], metavar="TASK"),
    click.Argument(["other"], metavar="TASK"),
)
def compare(session: CliSession, thread: str, task: str, other: str) -> None:
    """Show what two tasks have in common, and where they differ."""
    with session.engine() as engine:
        found = thread_named(engine, thread).tasks.compare(task, other)
    if session.as_json:
        session.screen.json(_comparison(found))
    else:
        session.screen.lines(_render_comparison(session.screen, found))


def _comparison(found: Comparison) -> dict[str, Json]:
    def side(one: ComparisonSide) -> dict[str, Json]:
        return {
            "task": of_task(one.task),
            "messages": one.messages,
            "turns": one.turns,
            "files": list(one.files),
            "tools": list(one.tools),
            "topics": list(one.topics),
            "decisions": list(one.decisions),
            "errors": list(one.errors),
        }

    return {
        "first": side(found.first),
        "second": side(found.second),
        "common": {
            "files": list(found.same_files),
            "tools": list(found.same_tools),
            "topics": list(found.same_topics),
            "errors": list(found.same_errors),
        },
        "likeness": found.likeness,
        "linked": found.linked,
    }


def _render_comparison(screen: Screen, found: Comparison) -> Iterator[str]:
    # start-up: loaded when the command runs
    from backscroll.engine.work.comparison import only

    yield t("task.likeness", share=f"{found.likeness:.0%}")
    if found.linked:
        yield t(f"task_links.{found.linked.replace(' ', '_')}", id=found.second.task.id)
    rows: list[list[str]] = []

    def row(key: str, first: Sequence[str], second: Sequence[str], same: Sequence[str]) -> None:
        cells = [", ".join(items) for items in (same, only(first, same), only(second, same))]
        if any(cells):
            rows.append([t(f"task_kinds.{key}"), *cells])

    a, b = found.first, found.second
    row("state", [state_of(a.task)], [state_of(b.task)], [])
    row("size", [count("task.messages", a.messages)], [count("task.messages", b.messages)], [])
    row("attempts", [str(len(a.task.attempts))], [str(len(b.task.attempts))], [])
    row("topics", a.topics, b.topics, found.same_topics)
    row("files", a.files, b.files, found.same_files)
    row("tools", a.tools, b.tools, found.same_tools)
    row("decisions", a.decisions, b.decisions, [])
    row("errors", a.errors, b.errors, found.same_errors)
    columns = [
        Column("", style="dim"),
        Column(t("columns.both"), shrinks=True),
        Column(t("columns.only", task=one_line(name_task(a.task))), shrinks=True),
        Column(t("columns.only", task=one_line(name_task(b.task))), shrinks=True),
    ]
    yield from table(screen, columns, rows)


@command(
    "task-boundaries",
    thread_argument(),
    option("--threshold", type=click.FloatRange(0, 1), metavar="SHARE"),
    option("--last", type=click.IntRange(min=1), metavar="N"),
)
def boundaries(session: CliSession, thread: str, threshold: float | None, last: int | None) -> None:
    """Show where a new task appears to start."""
    with session.engine() as engine:
        found = thread_named(engine, thread)
        seen = found.tasks.boundaries(threshold=threshold, last=last)
        rows = [(b, number_of(found, b.message), _words_of(found, b.message)) for b in seen]
    if session.as_json:
        session.screen.json(
            [
                {
                    "message": str(b.message),
                    "number": number,
                    "score": b.score,
                    "explicit": b.explicit,
                    "reasons": [{"name": r.name, "weight": r.weight, "detail": r.detail} for r in b.reasons],
                }
                for b, number, _ in rows
            ]
        )
    elif not rows:
        session.screen.line(t("task.no_boundaries"))
    else:
        columns = [
            Column(t("columns.number"), right=True),
            Column(t("columns.score"), right=True),
            Column(t("columns.text"), shrinks=True),
            Column(t("columns.why"), shrinks=True, style="dim"),
        ]
        cells = [
            (
                "" if number is None else str(number),
                f"{b.score:.2f}",
                words,
                "; ".join(reason_words(r.name, r.detail) for r in b.reasons[:3] if r.weight > 0),
            )
            for b, number, words in rows
        ]
        session.screen.lines(table(session.screen, columns, cells))


def _words_of(thread: Thread, message: Ref) -> str:
    return one_line(thread.message(message).text)[:200]
