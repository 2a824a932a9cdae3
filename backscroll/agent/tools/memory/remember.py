"""The tool `remember`: save a note for later conversations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from backscroll.agent.commands.output import one_line
from backscroll.agent.person import Preview
from backscroll.agent.tool import ToolContext, ToolOutput
from backscroll.agent.toolbox import tool
from backscroll.vocab.part import Json


def _preview(_context: ToolContext, arguments: Mapping[str, Json]) -> Preview:
    words = str(arguments["text"])
    return Preview(f"remember ({arguments.get('kind', 'fact')}): {one_line(words)}", text=words)


@tool(effect="memory", preview=_preview)
def remember(
    context: ToolContext, text: str, kind: Literal["fact", "preference", "lesson"] = "fact"
) -> ToolOutput:
    """Write something down that should be known in later conversations of this project too.

    For what the person wants kept, how they want things done, and lessons that cost time to learn. This conversation itself is
    recorded anyway: what only matters here need not be remembered.

    Args:
        text: One or two sentences that can be understood without this conversation.
        kind: A fact, a preference of the person, or a lesson.
    """
    memory = context.thread.memory.add(text, kind=kind)
    return ToolOutput(
        f"Remembered as {memory.id}.", line=f"remembered: {one_line(text, 80)}", facts={"memory": memory.id}
    )
