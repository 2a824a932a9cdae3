"""Where tasks meet what is remembered: the summary of a task, its essentials, and what of earlier times a new one needs.

A thin seam: `engine/work/memory/memories` knows the memories, this module asks it in the way that the steps need. Before:
`derive/essence/essentials`, `engine/work/memory/memories`. After: `engine/work/task_steps`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, cast

from backscroll.derive.essence.essentials import Kind, essentials
from backscroll.tasks.lifecycle.words import essential_lines
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message
from backscroll.vocab.task import MemoryKind, Task

if TYPE_CHECKING:
    from backscroll.engine.thread import Thread
    from backscroll.engine.work.memory.reading import Collected

#: Sums messages up: the words, and by whom (rules, or the model).
Told: TypeAlias = Callable[[Sequence[Message]], tuple[str, str]]
_REMINDED = 6  # lines about what a task began with
_ESSENTIAL = 24  # lines of essentials that stand for the middle of a task


def summary_told(thread: Thread, task: Task) -> Told:
    """How a whole task is summed up."""

    def told(_messages: Sequence[Message]) -> tuple[str, str]:
        from backscroll.engine.work.memory.memories import task_summary

        return task_summary(thread, task)[0], "rules"

    return told


def essentials_told(thread: Thread) -> Told:
    """How the middle of a task that goes on is summed up: what is open or binding, in its own words, with handles."""
    language = thread.legible.info.language

    def told(messages: Sequence[Message]) -> tuple[str, str]:
        lines = essential_lines(essentials(messages), language)[-_ESSENTIAL:]
        return "\n".join(lines), "rules"

    return told


def open_todos(messages: Sequence[Message]) -> list[str]:
    """What some messages leave to be done, in their own words."""
    return [essential.text for essential in essentials(messages) if essential.kind is Kind.TODO]


def relevant_to(thread: Thread, text: str) -> tuple[str, ...]:
    """Ids of the memories with which a new task begins."""
    from backscroll.engine.work.memory.memories import load_relevant_history

    found = load_relevant_history(thread, text) if text.strip() else None
    return () if found is None else tuple(memory.id for memory in found.memories)


@dataclass(frozen=True, slots=True)
class Planned:
    """The plan after feedback and the questions worth asking, in words, with what they rest on."""

    steps: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    sources: tuple[Ref, ...] = ()


@dataclass(frozen=True, slots=True)
class Reminded:
    """What a task is reminded of: the lines, what they rest on, the memories that they tell, and among what these were chosen."""

    lines: tuple[str, ...] = ()
    sources: tuple[Ref, ...] = ()
    memories: tuple[str, ...] = ()
    among: Collected | None = None


def plan_shown(thread: Thread, task: Task) -> Planned:
    """What to do next about a task that was sent back; nothing for one that was not."""
    if not task.feedback:
        return Planned()
    from backscroll.engine.work.memory.memories import followups_for, plan_for

    plan = plan_for(thread, task)
    asked = followups_for(thread, task)
    sources = dict.fromkeys(ref for item in (*plan.steps, *asked) for ref in item.sources)
    return Planned(
        tuple(step.text for step in plan.steps),
        tuple(question.text for question in asked),
        tuple(sources),
    )


def reminders(thread: Thread, task: Task, language: str) -> Reminded:
    """What earlier times teach about a task like this, as lines, with what they rest on.

    What it began with, as far as that is still remembered, and what failed before. Preferences and pins stand in the memory
    section anyway.
    """
    from backscroll.engine.work.memory.memories import hints
    from backscroll.engine.work.memory.reading import collect
    from backscroll.tasks.memory.words import line_of, reminder, told_as

    found = collect(thread, ready=True)
    shelf = thread.engine.memo.shelf("reminders", 200)
    key = (thread.id, task.id, task.title, task.feedback[-1:], task.relevant, language)
    kept = cast("Reminded | None", shelf.get(key))
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
    kept = shelf[key] = Reminded(tuple(lines), tuple(sources), tuple(names), found)
    return kept
