"""The tool `apply_patch`: edit several files in one call, all or none.

Refuses: text without edits, and everything that `workspace/edits/edits` refuses.
"""

from __future__ import annotations

from collections.abc import Mapping

from backscroll.agent.person import Preview
from backscroll.agent.tool import ToolContext, ToolOutput
from backscroll.agent.toolbox import tool
from backscroll.agent.tools.files.folder import edit_preview, files_of, outcome
from backscroll.errors import InvalidInput
from backscroll.vocab.part import Json
from backscroll.workspace.edits.edits import EditPlan, apply, parse_edits, plan


def _plan_edits(context: ToolContext, text: str) -> EditPlan:
    edits = parse_edits(text)
    if not edits:
        raise InvalidInput(
            "the text holds no edits",
            hint="search/replace blocks, unified diffs, and files in fenced blocks with their path are understood",
        )
    return plan(files_of(context), edits)


def _preview(context: ToolContext, arguments: Mapping[str, Json]) -> Preview:
    return edit_preview("patch", _plan_edits(context, arguments["text"]))


@tool(effect="write", preview=_preview)
def apply_patch(context: ToolContext, text: str) -> ToolOutput:
    """Change several files at once, all or none: for edits that belong together, new, deleted and renamed files.

    Args:
        text: Unified diffs (git style), search/replace blocks with the file name in front, or whole files in fenced blocks with
            their path.
    """
    told, line = outcome(apply(_plan_edits(context, text)))
    return ToolOutput(told, line=line)
