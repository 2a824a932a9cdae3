"""The state of a task as prompt text: title, state, feedback, plan, to-dos, reminders, within a budget.

Most important first: title and state always, then the feedback, the plan, what is open, lessons of earlier tasks.
Lines have a fixed order in the text, whichever of them fit. The words are data (`lifecycle_words.toml`). Pure: the token
counter is passed in.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from backscroll.derive.essence.essentials import Essential, EssentialKind
from backscroll.tasks.lifecycle.tuning import LINE, LINES
from backscroll.vocab.handle import handle_of
from backscroll.vocab.task import Task, TaskState


@dataclass(frozen=True, slots=True)
class TaskBriefing:
    """Everything that can be said about the current task."""

    task: Task
    plan: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    todos: tuple[Essential, ...] = ()
    reminders: tuple[str, ...] = ()  # lessons of earlier tasks
    cancelled: Task | None = None  # a similar task that was cancelled
    suggestion: str = ""  # start or end


@cache
def _tables() -> Mapping[str, Mapping[str, str]]:
    return tomllib.loads(
        files("backscroll.tasks").joinpath("lifecycle_words.toml").read_text(encoding="utf-8")
    )


def words_in(language: str) -> Mapping[str, str]:
    """Return the fixed words about tasks, in a language."""
    return _tables()["zh" if language.startswith("zh") else "en"]


def headline(task: Task, language: str, state: TaskState | None = None) -> str:
    """Return the heading of a task's summary; without an id, of messages outside any task."""
    words = words_in(language)
    if not task.id:
        return words["outside"]
    title = f"{task.id} {task.title}".strip()
    return words["summed"].format(title=title, state=words[(state or task.state).value])


def essential_lines(found: Sequence[Essential], language: str) -> list[str]:
    """Return what is open or binding, one line each, quoted and with a handle."""
    words = words_in(language)
    return [
        f"- {words[f'kind_{e.kind.value}']}: {_short(e.text)} {handle_of(e.message)}"
        for e in found
        if f"kind_{e.kind.value}" in words
    ]


def tell(standing: TaskBriefing, language: str, fits: Callable[[str], bool]) -> str:
    """Render the text about the current task, as much of it as fits; empty if not even the first line does."""
    words = words_in(language)
    lines = list(_lines(standing, words))
    if not fits("\n".join(lines[:2])):
        return ""
    taken: list[str] = []
    for line in lines:
        if fits("\n".join([*taken, line])):
            taken.append(line)
    while taken and taken[-1] in (words["plan"], words["todo"], words["hints"], words["questions"]):
        taken.pop()  # a heading with nothing under it
    return "\n".join(taken)


def _lines(standing: TaskBriefing, words: Mapping[str, str]) -> Iterator[str]:
    task = standing.task
    yield words["title"]
    key = "task" if task.title else "untitled"
    state = words[task.state.value]
    yield words[key].format(id=task.id, title=task.title, state=state, since=_moment(task.began))
    yield from _verdict(task, words)
    yield from _render_list(words["plan"], [f"{n}. {_short(s)}" for n, s in enumerate(standing.plan, 1)])
    yield from _render_list(words["questions"], [f"- {_short(q)}" for q in standing.questions])
    todos = [e for e in standing.todos if e.kind is EssentialKind.TODO]
    yield from _render_list(
        words["todo"], [f"- {_short(e.text)} {handle_of(e.message)}" for e in todos[-LINES:]]
    )
    yield from _render_list(words["hints"], [f"- {_short(r.removeprefix('- '))}" for r in standing.reminders])
    if standing.cancelled is not None:
        gone = standing.cancelled
        line = words["cancelled_like"].format(id=gone.id, title=gone.title, when=gone.ended[:10])
        yield f"{line}: {_short(gone.reason)}" if gone.reason else line
    if standing.suggestion in ("start", "end"):
        yield words[standing.suggestion]


def _verdict(task: Task, words: Mapping[str, str]) -> Iterator[str]:
    """Yield the latest verdict: pending, or the user's decision."""
    last = task.attempts[-1] if task.attempts else None
    if last is not None and not last.verdict and last.result:
        yield words["waiting"].format(result=_short(last.result))
    refused = [a for a in task.attempts if a.verdict == "refused"]
    if refused and (refused[-1].feedback or refused[-1].media):
        said = refused[-1]
        yield words["feedback"].format(when=_moment(said.at), text=said.feedback)
        if said.media:
            yield words["pictures"].format(n=len(said.media))


def _render_list(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield title
        yield from lines[:LINES]


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LINE else f"{line[:LINE].rstrip()}…"


def _moment(time: str) -> str:
    """Return a time in readable form, to the minute."""
    return time[:16].replace("T", " ")
