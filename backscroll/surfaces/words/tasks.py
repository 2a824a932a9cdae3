"""Tasks as text: lines and tables for the user, JSON with stable keys for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from backscroll.surfaces.i18n import count, find, t
from backscroll.surfaces.i18n.translation import say
from backscroll.surfaces.receipts import number
from backscroll.surfaces.screen.cells import wrap
from backscroll.surfaces.screen.plain import one_line, safe
from backscroll.surfaces.screen.table import Column, table
from backscroll.surfaces.screen.times import format_time
from backscroll.vocab.part import Json

if TYPE_CHECKING:
    from backscroll.engine.work.context import ContextRelease
    from backscroll.engine.work.task_writer import TaskReport
    from backscroll.surfaces.screen.screen import Screen
    from backscroll.vocab.ids import Ref
    from backscroll.vocab.task import Attempt, Task


def of_task(task: Task) -> dict[str, Json]:
    """Return a task as `--json` prints it."""
    return {
        "id": task.id,
        "title": task.title,
        "state": task.state.value,
        "current": task.current,
        "thread": task.thread,
        "event": str(task.event),
        "first": _name(task.first),
        "last": _name(task.last),
        "began": task.began,
        "ended": task.ended,
        "by": task.by,
        "decided_by": task.decided_by,
        "decided_as": task.decided_as,
        "attempts": [of_attempt(a) for a in task.attempts],
        "feedback": list(task.feedback),
        "reason": task.reason,
        "links": [{"task": link.other, "how": link.how} for link in task.links],
        "merged": list(task.merged),
        "cleared": task.cleared,
        "relevant": list(task.relevant),
    }


def of_attempt(attempt: Attempt) -> dict[str, Json]:
    """Return an attempt with its verdict."""
    return {
        "event": str(attempt.event),
        "at": attempt.at,
        "by": attempt.by,
        "result": attempt.result,
        "verdict": attempt.verdict,
        "feedback": attempt.feedback,
        "media": list(attempt.media),
        "decided_by": attempt.decided_by,
        "decided_as": attempt.decided_as,
        "note": attempt.note,
    }


def of_step(step: TaskReport) -> dict[str, Json]:
    """Return what a step did."""
    return {
        "act": step.act.value,
        "task": of_task(step.task),
        "released": [
            {"handle": r.handle, "messages": r.messages, "tokens": r.tokens, "summary": r.words}
            for r in step.released
        ],
        "back": step.back,
        "rests": None if step.rests is None else step.rests.id,
        "cancelled_like_it": None if step.cancelled is None else of_task(step.cancelled),
        "relevant": list(step.relevant),
    }


def _name(ref: Ref | None) -> str | None:
    return None if ref is None else str(ref)


def name_task(task: Task) -> str:
    """Return a task in a sentence: its id, and its title if it has one."""
    return t("task.named", id=task.id, title=one_line(task.title)) if task.title else task.id


def state_of(task: Task) -> str:
    """Return its state in words."""
    return t(f"task_states.{task.state.value}")


def step_lines(step: TaskReport) -> Iterator[str]:
    """Yield what a step did, for the user."""
    yield t(f"task_done.{step.act.value}", task=name_task(step.task))
    if step.rests is not None and step.act.value in ("start", "resume"):
        yield t("task.rests", task=name_task(step.rests), id=step.rests.id)
    if step.cancelled is not None:
        yield cancelled_line(step.cancelled)
    for release in step.released:
        yield release_line(release)
    if step.back:
        yield count("task.back", step.back)
    if step.relevant:
        yield count("task.relevant", len(step.relevant))


def cancelled_line(task: Task) -> str:
    """Return the warning that a similar task was cancelled."""
    when = format_time(task.ended)
    if task.reason:
        return t("task.cancelled_why", task=name_task(task), when=when, reason=one_line(task.reason))
    return t("task.cancelled_like", task=name_task(task), when=when)


def release_line(release: ContextRelease) -> str:
    """Return what left the prompt."""
    return count("task.released", release.messages, tokens=number(release.tokens), handle=release.handle)


def listing(screen: Screen, tasks: Sequence[Task]) -> Iterator[str]:
    """Yield a table of tasks."""
    columns = [
        Column("", style="strong"),
        Column(t("columns.task"), right=True),
        Column(t("columns.state")),
        Column(t("columns.title"), shrinks=True, style="strong"),
        Column(t("columns.since"), style="dim"),
        Column(t("columns.until"), style="dim"),
        Column(t("columns.by"), style="dim"),
    ]
    rows = [
        (
            "▸" if task.current else "",
            task.id,
            state_of(task),
            task.title,
            format_time(task.began),
            format_time(task.ended),
            task.decided_by or task.by,
        )
        for task in tasks
    ]
    yield from table(screen, columns, rows)


def page_of(screen: Screen, task: Task, messages: int) -> Iterator[str]:
    """Yield the details of a task."""
    yield screen.style(f"{task.id}  {one_line(task.title)}", "strong")
    yield t("task.standing", state=state_of(task), since=format_time(task.began), by=one_line(task.by))
    if task.ended:
        key = "task.ended_program" if task.decided_as == "program" else "task.ended_person"
        yield t(key, when=format_time(task.ended), by=one_line(task.decided_by))
    if task.reason:
        yield t("task.reason", reason=safe(task.reason))
    yield count("task.messages", messages)
    if task.cleared:
        yield t("task.cleared")
    for link in task.links:
        yield t(f"task_links.{link.how.replace(' ', '_')}", id=link.other)
    if task.merged:
        yield t("task.merged", ids=", ".join(task.merged))
    for attempt in task.attempts:
        yield ""
        yield from attempt_lines(screen, attempt)


def attempt_lines(screen: Screen, attempt: Attempt) -> Iterator[str]:
    """Yield an attempt and its verdict."""
    verdict = t(f"task_verdicts.{attempt.verdict or 'waiting'}")
    yield screen.style(
        t("task.attempt", when=format_time(attempt.at), by=one_line(attempt.by), verdict=verdict), "dim"
    )
    text = attempt.result or (say(attempt.note) if attempt.note else "")
    yield from _indent_text(screen, text)
    if attempt.feedback:
        yield t("task.feedback")
        yield from _indent_text(screen, attempt.feedback)
    if attempt.media:
        yield count("task.pictures", len(attempt.media))


def _indent_text(screen: Screen, text: str) -> Iterator[str]:
    for line in filter(None, safe(text).split("\n")):
        yield from (f"  {piece}" for piece in wrap(line, screen.room(2)))


def reason_words(name: str, detail: str) -> str:
    """Return why a message looks like the start of a task."""
    words = find(f"boundary_reasons.{name}") or name.replace("_", " ")
    return f"{words} ({one_line(detail)})" if detail else words
