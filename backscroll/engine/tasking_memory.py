"""Where tasks meet what is remembered: the summary of a task, its essentials, and what of earlier times a new one needs.

A thin seam: `engine/remembering` knows the memories, this module asks it in the way that the steps need. Before:
`derive/essentials`, `engine/remembering`. After: `engine/tasking_steps`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

from backscroll.derive.essentials import essentials
from backscroll.tasks.lifecycle_telling import essential_lines
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message
from backscroll.vocab.task import Memory, Task

if TYPE_CHECKING:
    from backscroll.engine.thread import Thread

#: Sums messages up: the words, and by whom (rules, or the model).
Told: TypeAlias = Callable[[Sequence[Message]], tuple[str, str]]
_ESSENTIAL = 24  # lines of essentials that stand for the middle of a task


def _remembering() -> Any:
    try:
        return import_module("backscroll.engine.remembering")
    except ModuleNotFoundError:
        return None


def summary_told(thread: Thread, task: Task) -> Told:
    """How a whole task is summed up."""

    def told(_messages: Sequence[Message]) -> tuple[str, str]:
        room = _remembering()
        if room is None or not hasattr(room, "task_summary"):
            return "", "rules"
        text, _ = room.task_summary(thread, task)
        return str(text), "rules"

    return told


def essentials_told(thread: Thread) -> Told:
    """How the middle of a task that goes on is summed up: what is open or binding, in its own words, with handles."""
    language = thread.info.language

    def told(messages: Sequence[Message]) -> tuple[str, str]:
        lines = essential_lines(essentials(messages), language)[-_ESSENTIAL:]
        return "\n".join(lines), "rules"

    return told


def relevant_to(thread: Thread, text: str) -> tuple[str, ...]:
    """Ids of the memories with which a new task begins."""
    room = _remembering()
    if room is None or not hasattr(room, "load_relevant_history") or not text.strip():
        return ()
    found = room.load_relevant_history(thread, text)
    return tuple(str(memory.id) for memory in found.memories)


def plan_shown(thread: Thread, task: Task) -> tuple[tuple[str, ...], tuple[str, ...], tuple[Ref, ...]]:
    """The plan after feedback and the questions worth asking, for a prompt, with the messages they rest on."""
    room = _remembering()
    if not task.feedback or room is None or not hasattr(room, "plan_for"):
        return (), (), ()
    plan = room.plan_for(thread, task)
    asked = room.followups_for(thread, task)
    sources = [ref for item in (*plan.steps, *asked) for ref in item.sources]
    return (
        tuple(str(step.text) for step in plan.steps),
        tuple(str(question.text) for question in asked),
        tuple(sources),
    )


def hints_for(thread: Thread, task: Task) -> tuple[Memory, ...]:
    """What earlier times teach about a task like this."""
    room = _remembering()
    if room is None or not hasattr(room, "hints") or not task.title:
        return ()
    return tuple(room.hints(thread, task.title))
