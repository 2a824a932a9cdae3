"""Connects tasks and memories: the summary of a task, its essentials, and what a new task needs from earlier work.

A thin seam: `engine/work/memory/memories` holds the memories; this module queries it for the steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, cast

from backscroll.derive.essence.essentials import EssentialKind
from backscroll.derive.essence.reader import essentials
from backscroll.engine.work.memory.memories import hints, load_relevant_history, task_summary
from backscroll.engine.work.memory.reader import collect
from backscroll.tasks.lifecycle.words import essential_lines
from backscroll.tasks.memory.words import line_of, reminder, told_as
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message
from backscroll.vocab.task import MemoryKind, Task

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import ThreadScope
    from backscroll.engine.work.memory.reader import ScopeMemories

#: Summarizes messages: returns the text, and who wrote it (rules, or the model).
Told: TypeAlias = Callable[[Sequence[Message]], tuple[str, str]]
_REMINDED = 6  # lines about what a task began with
_ESSENTIAL = 24  # lines of essentials that replace the middle of a task


def summary_told(thread: ThreadScope, task: Task) -> Told:
    """Return the function that summarizes a whole task."""

    def summarise_task(_messages: Sequence[Message]) -> tuple[str, str]:
        return task_summary(thread, task)[0], "rules"

    return summarise_task


def essentials_told(thread: ThreadScope) -> Told:
    """Return the function that summarizes the middle of a task that continues: what is open or binding, quoted, with handles."""
    language = thread.legible.info.language

    def list_essentials(messages: Sequence[Message]) -> tuple[str, str]:
        lines = essential_lines(essentials(messages), language)[-_ESSENTIAL:]
        return "\n".join(lines), "rules"

    return list_essentials


def open_todos(messages: Sequence[Message]) -> list[str]:
    """Return the to-dos in some messages, quoted."""
    return [essential.text for essential in essentials(messages) if essential.kind is EssentialKind.TODO]


def relevant_to(thread: ThreadScope, text: str) -> tuple[str, ...]:
    """Return the ids of the memories that a new task begins with."""
    found = load_relevant_history(thread, text) if text.strip() else None
    return () if found is None else tuple(memory.id for memory in found.memories)


@dataclass(frozen=True, slots=True)
class PlanText:
    """The plan after feedback and the questions worth asking, as text, with their sources."""

    steps: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    sources: tuple[Ref, ...] = ()


@dataclass(frozen=True, slots=True)
class TaskReminders:
    """Reminders for a task: the lines, their sources, the memories they contain, and the memories they were chosen from."""

    lines: tuple[str, ...] = ()
    sources: tuple[Ref, ...] = ()
    memories: tuple[str, ...] = ()
    among: ScopeMemories | None = None


def plan_shown(thread: ThreadScope, task: Task) -> PlanText:
    """Return what to do next in a task that was sent back; empty for any other."""
    if not task.feedback:
        return PlanText()
    from backscroll.engine.work.memory.plans import followups_for, plan_for  # start-up: only with a model

    plan = plan_for(thread, task)
    asked = followups_for(thread, task)
    sources = dict.fromkeys(ref for item in (*plan.steps, *asked) for ref in item.sources)
    return PlanText(
        tuple(step.text for step in plan.steps),
        tuple(question.text for question in asked),
        tuple(sources),
    )


def reminders(thread: ThreadScope, task: Task, language: str) -> TaskReminders:
    """Return what earlier work teaches about a task like this, as lines with their sources.

    What it began with, as far as that is still remembered, and what failed before. Preferences and pins are in the memory
    section anyway.
    """
    found = collect(thread, ready=True)
    shelf = thread.engine.memo.shelf("reminders", 200)
    key = (thread.id, task.id, task.title, task.feedback[-1:], task.relevant, language)
    kept = cast("TaskReminders | None", shelf.get(key))
    if kept is not None and kept.among is found:
        return kept
    known = {m.id: m for m in found.memories} if task.relevant else {}
    began = [known[name] for name in task.relevant if name in known]
    told = [m for m in began if m.kind is not MemoryKind.PREFERENCE and not m.pinned and m.text][:_REMINDED]
    words = f"{task.title}\n{task.feedback[-1] if task.feedback else ''}"
    lessons = [
        m for m in hints(thread, words, among=found) if m.text and (m.thread, m.task) != (thread.id, task.id)
    ]
    fresh = {m.id for m in lessons}
    lines = [reminder(m, thread.id, language) for m in lessons]
    lines += [line_of(m, thread.id, language) for m in told if m.id not in fresh]
    sources = dict.fromkeys(ref for m in (*lessons, *told) for ref in m.sources)
    names = dict.fromkeys(told_as(m) for m in (*lessons, *told))
    kept = shelf[key] = TaskReminders(tuple(lines), tuple(sources), tuple(names), found)
    return kept
