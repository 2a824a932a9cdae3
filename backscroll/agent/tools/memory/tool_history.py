"""The tool `tool_history`: list earlier tool calls of this conversation, by tool, target or words."""

from __future__ import annotations

from backscroll.agent.commands.output import one_line
from backscroll.agent.tool import ToolContext, ToolOutput
from backscroll.agent.toolbox import tool
from backscroll.vocab.handle import handle_of

_MOST = 50


@tool(name="tool_history")
def tool_history(
    context: ToolContext, tool: str = "", target: str = "", text: str = "", limit: int = 10
) -> ToolOutput:
    """List earlier tool calls of this conversation, newest first, with their outcome and a handle to the whole result.

    Use it to see whether a file was read or a command run before, and how that went, instead of doing it again.

    Args:
        tool: Only calls of this tool.
        target: Only calls about this file, command or query.
        text: Only calls with these words in the call or its result.
        limit: How many at the most.
    """
    found = context.thread.tool_history(
        tool=tool or None, target=target or None, text=text or None, limit=max(1, min(limit, _MOST))
    )
    if not found:
        return ToolOutput("No tool was used like that in this conversation.", line="nothing found")
    rows = [
        f"{handle_of(use.digest.result or use.digest.call)} turn {use.turn}: {use.digest.tool_name} "
        f"{one_line(use.digest.target, 160)}: {one_line(use.digest.summary, 240)}"
        for use in found
    ]
    return ToolOutput("\n".join(rows), line=f"{len(rows)} found")
