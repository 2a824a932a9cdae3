"""The tool `update_todos`: replace the to-do list as a whole.

The list is stored in the call itself: the engine reads open to-dos from there, and every prompt keeps them, whatever is condensed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from backscroll.agent.person import Preview
from backscroll.agent.tool import ToolContext, ToolOutput
from backscroll.agent.toolbox import tool
from backscroll.vocab.part import Json

_BOXES = {"pending": "[ ]", "in_progress": "[-]", "completed": "[x]", "cancelled": "[x]"}


@dataclass(frozen=True, slots=True)
class Todo:
    """One thing to do.

    Args:
        text: What is to be done, in one line.
        status: How it stands.
    """

    text: str
    status: Literal["pending", "in_progress", "completed", "cancelled"]


def _preview(_context: ToolContext, arguments: Mapping[str, Json]) -> Preview:
    """Preview the call: its name is enough on one line, since the list is the call."""
    rows = [_row(Todo(**each)) for each in arguments["todos"]]
    return Preview("update_todos", text="\n".join(rows))


def _row(todo: Todo) -> str:
    return f"{_BOXES[todo.status]} {' '.join(todo.text.split())}"


@tool(preview=_preview)
def update_todos(context: ToolContext, todos: list[Todo]) -> ToolOutput:  # noqa: ARG001 - the list is the call
    """Keep the list of what is to be done: give the whole list each time, also what is done.

    Use it at the beginning of work with three or more steps, and whenever one is begun or done. Open entries stay in view however
    long the conversation becomes.

    Args:
        todos: All entries, in order.
    """
    done = sum(each.status in ("completed", "cancelled") for each in todos)
    now = next((each.text for each in todos if each.status == "in_progress"), "")
    rows = [_row(each) for each in todos]
    line = f"{done}/{len(todos)} done" + (f"; now: {now}" if now else "")
    return ToolOutput("\n".join([line, *rows]), line=line, facts={"done": done, "all": len(todos)})
