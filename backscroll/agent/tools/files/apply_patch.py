"""The tool `apply_patch`: edits of several files in one text, all of them or none.

Refuses: text without edits, and whatever `workspace/edits/edits` refuses. Before: `act/tools/files/folder`.
"""

from __future__ import annotations

from collections.abc import Mapping

from backscroll.act.person import Preview
from backscroll.act.tool import ToolContext, ToolOutput
from backscroll.act.toolbox import tool
from backscroll.act.tools.files.folder import edit_preview, files_of, outcome
from backscroll.errors import InvalidInput
from backscroll.vocab.part import Json
from backscroll.workspace.edits.edits import Plan, apply, parse_edits, plan


def _planned(context: ToolContext, text: str) -> Plan:
    edits = parse_edits(text)
    if not edits:
        raise InvalidInput(
            "the text holds no edits",
            hint="search/replace blocks, unified diffs, and files in fenced blocks with their path are understood",
        )
    return plan(files_of(context), edits)


def _preview(context: ToolContext, arguments: Mapping[str, Json]) -> Preview:
    return edit_preview("patch", _planned(context, arguments["text"]))


@tool(effect="write", preview=_preview)
def apply_patch(context: ToolContext, text: str) -> ToolOutput:
    """Change several files at once, all or none: for edits that belong together, new, deleted and renamed files.

    Args:
        text: Unified diffs (git style), search/replace blocks with the file name in front, or whole files in fenced blocks with
            their path.
    """
    told, line = outcome(apply(_planned(context, text)))
    return ToolOutput(told, line=line)
