"""The task section of a prompt: the state of the current task.

Reads nothing beyond what the prompt has read: to-dos come from the part of the task that the window shows (older ones are
in the summary of a compaction or a crop). Names its sources.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, cast

from backscroll.assemble.view.units import units_of
from backscroll.derive.essence.essentials import Essential, EssentialKind, Findings, join
from backscroll.derive.essence.reader import findings
from backscroll.engine.work.boundaries import suggestion
from backscroll.engine.work.memory.reader import ScopeMemories, collect
from backscroll.engine.work.task_memory import PlanText, TaskReminders, plan_shown, reminders
from backscroll.engine.work.task_reader import tasks_of
from backscroll.tasks.lifecycle.steps import current_of, holds
from backscroll.tasks.lifecycle.tiers import alike
from backscroll.tasks.lifecycle.words import TaskBriefing, headline, tell, words_in
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message
from backscroll.vocab.part import Text
from backscroll.vocab.prompt import Block, Level, Section
from backscroll.vocab.task import Task, TaskState

if TYPE_CHECKING:
    from backscroll.engine.prompts.composition.composer import Composer

LEAST = 40  # tokens below which nothing useful fits
_SHOWN = 40  # characters by which a line is recognised
_UNITS = 4000  # units whose to-dos are cached


def task_block(composer: Composer, room: int, read: Collection[Ref] = ()) -> Block | None:
    """Return the task section within `room` tokens; None without a task, or without room.

    To-dos are left out if the revision that contains them is `read` anyway.
    """
    thread = composer.thread
    if room < LEAST:
        return None
    history = thread if composer.as_of is None else thread.at(composer.as_of)
    memo = thread.engine.memo.shelf("tasks")
    tasks = history.reading(lambda view: tasks_of(view, memo if composer.as_of is None else None))
    task = current_of(tasks)
    if task is None:
        return None
    standing, sources, told = _standing(composer, tasks, task, read)
    meter = composer.meter
    text = tell(standing, composer.frames, lambda said: meter.parts((Text(said),)) <= room)
    if not text:
        return None
    parts = (Text(text),)
    reminded = any(line.removeprefix("- ")[:_SHOWN] in text for line in standing.reminders)
    return Block(
        "user",
        parts,
        Section.TASK,
        Level.GIST,
        sources,
        reason="the task at hand, with reminders" if reminded else "the task at hand",
        tokens=meter.parts(parts),
        tells=told if reminded else (),
    )


def ended_line(composer: Composer, told: Collection[str]) -> Block | None:
    """Return how the newest task ended, if prompts still present it as current."""
    thread = composer.thread
    history = thread if composer.as_of is None else thread.at(composer.as_of)
    memo = thread.engine.memo.shelf("tasks")
    tasks = history.reading(lambda view: tasks_of(view, memo if composer.as_of is None else None))
    task = next((t for t in reversed(tasks) if any(t.id in line for line in told)), None)
    if task is None:
        return None
    words = words_in(composer.frames)
    line = headline(task, composer.frames)
    parts = (Text(f"{words['title']}\n{line}"),)
    return Block("user", parts, Section.TASK, Level.GIST, _words_of(task), reason="a task that ended")


def _words_of(task: Task) -> tuple[Ref, ...]:
    """Return the sources of the text about a task: its steps, and the message it is named after."""
    return (*dict.fromkeys(task.told), *([] if task.named is None else [task.named]))


def _standing(
    composer: Composer, tasks: Sequence[Task], task: Task, read: Collection[Ref]
) -> tuple[TaskBriefing, tuple[Ref, ...], tuple[str, ...]]:
    thread, now = composer.thread, composer.as_of is None
    shown = [
        m
        for m in composer.sheet.window
        if "backscroll" not in m.content.metadata and holds(task.spans, m.position)
    ]
    todos = tuple(e for e in _todos(composer, shown) if e.source not in read)
    plan = _plan(composer, task) if now else PlanText()
    taught = reminders(thread, task, composer.frames) if now else TaskReminders()
    like = [t for t in tasks if t.state is TaskState.CANCELLED and task.title and alike(t.title, task.title)]
    found = suggestion(thread, tasks) if now else None
    standing = TaskBriefing(
        task,
        plan.steps,
        plan.questions,
        todos,
        taught.lines,
        like[-1] if like else None,
        "" if found is None else found.what,
    )
    sources = [*(e.source for e in todos), *plan.sources, *taught.sources, *_words_of(task)]
    sources += _words_of(like[-1]) if like else ()
    return standing, tuple(dict.fromkeys(sources)), taught.memories


def _plan(composer: Composer, task: Task) -> PlanText:
    """Return the plan; remade when the user writes, a rare event happens in the thread, or memories change."""
    if not task.feedback:
        return PlanText()
    among = collect(composer.thread, ready=True)
    asked = next((m.revision for m in reversed(composer.sheet.window) if m.role == "user"), None)
    shelf = composer.thread.engine.memo.shelf("plans shown", 200)
    key = (composer.thread.id, task.id, asked, composer.sheet.standing.rare, composer.frames)
    kept = cast("tuple[ScopeMemories, PlanText] | None", shelf.get(key))
    if kept is None or kept[0] is not among:
        kept = shelf[key] = (among, plan_shown(composer.thread, task))
    return kept[1]


def _todos(composer: Composer, shown: Sequence[Message]) -> tuple[Essential, ...]:
    """Return the remaining to-dos in the part of the task that the window shows; units read before are not read again."""
    shelf = composer.thread.engine.memo.shelf("unit findings", _UNITS)
    spans: list[Findings] = []
    for unit in units_of(shown):
        key = unit.revisions
        found: Findings | None = shelf.get(key)
        if found is None:
            found = shelf[key] = findings(unit.messages)
        spans.append(found)
    return tuple(e for e in join(spans).open if e.kind is EssentialKind.TODO)
