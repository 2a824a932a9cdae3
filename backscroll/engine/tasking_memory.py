"""Where tasks meet what is remembered: the summary of a task, its essentials, and what of earlier times a new one needs.

A thin seam: `engine/remembering` knows the memories, this module asks it in the way that the steps need. Before:
`derive/essentials`, `engine/remembering`. After: `engine/tasking_steps`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

from backscroll.derive.essentials import Kind, essentials
from backscroll.vocab.handle import handle_of
from backscroll.vocab.message import Message
from backscroll.vocab.task import Task

if TYPE_CHECKING:
    from backscroll.engine.thread import Thread

#: Sums messages up: the words, and by whom (rules, or the model).
Told: TypeAlias = Callable[[Sequence[Message]], tuple[str, str]]
_ESSENTIAL = 24  # lines of essentials that stand for the middle of a task
_NAMES: dict[str, dict[Kind, str]] = {
    "en": {
        Kind.TODO: "to do",
        Kind.ERROR: "error",
        Kind.CONSTRAINT: "must hold",
        Kind.DECISION: "decided",
        Kind.QUESTION: "open question",
    },
    "zh": {
        Kind.TODO: "待办",
        Kind.ERROR: "错误",
        Kind.CONSTRAINT: "须遵守",
        Kind.DECISION: "已决定",
        Kind.QUESTION: "未答的问题",
    },
}


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
    names = _NAMES["zh" if thread.info.language.startswith("zh") else "en"]

    def told(messages: Sequence[Message]) -> tuple[str, str]:
        found = [e for e in essentials(messages) if e.kind in names][-_ESSENTIAL:]
        lines = [f"- {names[e.kind]}: {e.text} {handle_of(e.message)}" for e in found]
        return "\n".join(lines), "rules"

    return told


def relevant_to(thread: Thread, text: str) -> tuple[str, ...]:
    """Ids of the memories with which a new task begins."""
    room = _remembering()
    if room is None or not hasattr(room, "load_relevant_history") or not text.strip():
        return ()
    found = room.load_relevant_history(thread, text)
    return tuple(str(memory.id) for memory in found.memories)
