"""`/task`, `/todos`: the current work, from its start to its verdict."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from backscroll.engine.work.task_memory import open_todos
from backscroll.engine.work.task_shape import title_task
from backscroll.engine.work.task_steps import plan_task, resume_task, start_task
from backscroll.engine.work.verdict import cancel_task, complete_task, refuse_task
from backscroll.errors import Conflict
from backscroll.surfaces.chat.slash.arguments import first_word, no_words, wrong_use
from backscroll.surfaces.chat.slash.cli_bridge import borrow
from backscroll.surfaces.chat.slash.replies import line, remark, report_done
from backscroll.surfaces.cli.families.task_views import list_, show, status
from backscroll.surfaces.i18n import t
from backscroll.surfaces.i18n.translation import say
from backscroll.surfaces.words.tasks import name_task, state_of, step_lines
from backscroll.vocab.task import TaskState

if TYPE_CHECKING:
    from backscroll.engine.work.task_writer import TaskReport
    from backscroll.surfaces.chat.talk import Talk
    from backscroll.vocab.part import Json
    from backscroll.vocab.task import Task

_LOOKED = 200  # messages that are searched for open to-dos
_TODOS = "update_todos"  # the tool with which a model keeps its to-do list


def task_slash(talk: Talk, rest: str) -> None:
    """Run a step of a task; without a word, show the state of the tasks."""
    verb, words = first_word(rest)
    work = _VERBS.get(_MEANT.get(verb, verb))
    if not rest:
        borrow(talk, status, talk.thread.id)
        current = talk.thread.tasks.current()
        remark(talk, t("slash.task_begin") if current is None else t("slash.task_end"))
    elif work is None:
        raise wrong_use("task")
    else:
        work(talk, words)


def _tell(talk: Talk, step: TaskReport) -> None:
    first, *more = step_lines(step)
    report_done(talk, first)
    for text in more:
        remark(talk, f"  {text}")


def _start(talk: Talk, title: str) -> None:
    try:
        step = start_task(talk.thread, title)
    except Conflict as conflict:
        # A task of this name was given up before: the user may want it all the same.
        if not _cancelled_before(talk, title):
            raise
        if not talk.confirm(f"{say(conflict.message)} {t('slash.task_again')}"):
            remark(talk, t("slash.nothing_done"))
            return
        step = start_task(talk.thread, title, again=True)
    _tell(talk, step)


def _cancelled_before(talk: Talk, title: str) -> bool:
    return any(task.title.strip() == title.strip() for task in talk.thread.tasks.list("cancelled"))


def _later(talk: Talk, title: str) -> None:
    if not title:
        raise wrong_use("task")
    _tell(talk, plan_task(talk.thread, title))


def _complete(talk: Talk, note: str) -> None:
    _tell(talk, complete_task(talk.thread, note=note))


def _not_yet(talk: Talk, feedback: str) -> None:
    """Send the result back with feedback, and let the work continue."""
    words = feedback or talk.ask(t("slash.task_why"), lines=True)
    if not words or not words.strip():
        remark(talk, t("slash.nothing_done"))
        return
    _tell(talk, refuse_task(talk.thread, words, say=True))
    if talk.confirm(t("slash.task_go_on"), usual=True):
        talk.play(talk.agent.events(None))


def _cancel(talk: Talk, reason: str) -> None:
    _tell(talk, cancel_task(talk.thread, reason=reason))


def _resume(talk: Talk, name: str) -> None:
    task: str | Task | None = name or _resting(talk)
    if task is not None:
        _tell(talk, resume_task(talk.thread, task))


def _resting(talk: Talk) -> Task | None:
    """Let the user pick one of the tasks that could be resumed."""
    going = (TaskState.IN_PROGRESS, TaskState.INCOMPLETE)
    found = [x for x in reversed(talk.thread.tasks.list()) if not x.current and x.state in going]
    if not found:
        remark(talk, t("slash.task_none_rests"))
        return None
    chosen = talk.choose(t("slash.task_which"), [f"{name_task(x)} · {state_of(x)}" for x in found])
    return None if chosen is None else found[chosen]


def _list(talk: Talk, rest: str) -> None:
    no_words(rest, "task")
    borrow(talk, list_, talk.thread.id)


def _show(talk: Talk, name: str) -> None:
    borrow(talk, show, "--", talk.thread.id, *([name] if name else []))


def _title(talk: Talk, title: str) -> None:
    if not title:
        raise wrong_use("task")
    _tell(talk, title_task(talk.thread, title))


_VERBS: Mapping[str, Callable[[Talk, str], None]] = {
    "start": _start,
    "later": _later,
    "complete": _complete,
    "incomplete": _not_yet,
    "cancel": _cancel,
    "resume": _resume,
    "list": _list,
    "show": _show,
    "rename": _title,
}
#: Synonyms.
_MEANT: Mapping[str, str] = {
    "new": "start",
    "done": "complete",
    "completed": "complete",
    "not-yet": "incomplete",
    "notyet": "incomplete",
    "no": "incomplete",
    "title": "rename",
    "ls": "list",
    "开始": "start",
    "稍后": "later",
    "完成": "complete",
    "未完成": "incomplete",
    "取消": "cancel",
    "继续": "resume",
    "列表": "list",
    "查看": "show",
    "标题": "rename",
}


def task_offer(talk: Talk, before: list[str], _current: str) -> Iterable[tuple[str, str]]:
    """Offer steps, then tasks where one is expected."""
    if not before:
        return [(verb, t(f"slash_task.{verb.replace('-', '_')}")) for verb in _VERBS]
    if len(before) == 1 and before[0] in ("resume", "show"):
        return [(task.id, task.title) for task in reversed(talk.thread.tasks.list())]
    return []


# -- /todos ------------------------------------------------------------------------------------------------------


def todos_slash(talk: Talk, rest: str) -> None:
    """Show the model's to-do list as last written, and other open to-dos from recent text."""
    no_words(rest, "todos")
    listed = _list_todos(talk)
    for state, text in listed:
        mark, style = _MARKS.get(state, ("☐", ""))
        line(talk, f"{mark} {text}", style)
    known = {text for _, text in listed}
    others = [text for text in open_todos(talk.thread.legible.recent(_LOOKED)) if text not in known]
    for text in others:
        line(talk, f"· {text}")
    if not listed and not others:
        remark(talk, t("slash.no_todos"))


_MARKS: Mapping[str, tuple[str, str]] = {
    "done": ("☑", "dim"),
    "completed": ("☑", "dim"),
    "in_progress": ("▸", "bold"),
    "doing": ("▸", "bold"),
    "cancelled": ("☒", "dim"),
}


def _list_todos(talk: Talk) -> list[tuple[str, str]]:
    """Return state and text of every item of the list that the tool wrote last."""
    found = talk.thread.tool_history(tool=_TODOS, limit=1)
    given: Json = found[0].arguments if found else None
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            given = None
    table: Mapping[str, Json] = cast("Mapping[str, Json]", given) if isinstance(given, Mapping) else {}
    items: Json = table.get("todos", table.get("items"))
    if not isinstance(items, list):
        return []
    return [_item(item) for item in cast("Sequence[Json]", items)]


def _item(item: Json) -> tuple[str, str]:
    if not isinstance(item, Mapping):
        return "", str(item)
    entry = cast("Mapping[str, Json]", item)
    words = next((str(entry[k]) for k in ("text", "content", "title", "task") if entry.get(k)), "")
    state = "done" if entry.get("done") is True else str(entry.get("status") or entry.get("state") or "")
    return state, words
