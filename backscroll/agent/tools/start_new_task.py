"""The tool `start_new_task`: summarize what came before, take it out of the prompt, and begin a new task."""

from __future__ import annotations

from collections.abc import Mapping

from backscroll.agent.commands.output import one_line
from backscroll.agent.person import Preview
from backscroll.agent.tool import ToolContext, ToolOutput
from backscroll.agent.toolbox import tool
from backscroll.errors import InvalidInput
from backscroll.vocab.part import Json


def _preview(context: ToolContext, arguments: Mapping[str, Json]) -> Preview:
    current = context.thread.tasks.current()
    warnings = () if current is None else (f"the task {current.title!r} is left as it is",)
    return Preview(
        f"new task: {one_line(str(arguments['title']))}",
        text=str(arguments.get("context") or ""),
        warnings=warnings,
    )


@tool(effect="memory", preview=_preview)
def start_new_task(here: ToolContext, title: str, context: str = "") -> ToolOutput:
    """Begin a new task: what came before is summed up, saved and leaves the prompt (every word stays one handle away).

    Use it when the person turns to something that has little to do with the work so far, or asks for it.

    Args:
        title: What the task is, in a few words.
        context: What has to be known for it: goal, files, decisions, what was tried. It stays in view.
    """
    if not title.strip():
        raise InvalidInput("the task has no title", hint="say in a few words what is to be done")
    task = here.thread.tasks.start(title, again=True, manual=False)
    words = f"Task {task.id} begins: {task.title}"
    return ToolOutput(
        f"{words}\n{context}".strip(),
        line=f"task {task.id}: {one_line(task.title, 80)}",
        facts={"task": task.id},
    )
