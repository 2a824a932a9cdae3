"""The tool `write_file`: a whole file, new or instead of the one that is there.

Refuses: what is outside the folder or protected. Before: `act/tools/files/folder`, `workspace/edits/edits`.
"""

from __future__ import annotations

from collections.abc import Mapping

from backscroll.act.person import Preview
from backscroll.act.tool import ToolContext, ToolOutput
from backscroll.act.toolbox import tool
from backscroll.act.tools.files.folder import edit_preview, files_of, outcome
from backscroll.vocab.part import Json
from backscroll.workspace.edits.edits import Plan, Write, apply, plan


def _planned(context: ToolContext, path: str, content: str) -> Plan:
    # What is written as a whole may be a template or a draft: broken syntax is told, not refused.
    return plan(files_of(context), [Write(path, content)], syntax="warn")


def _preview(context: ToolContext, arguments: Mapping[str, Json]) -> Preview:
    return edit_preview("write", _planned(context, arguments["path"], arguments["content"]))


@tool(effect="write", preview=_preview)
def write_file(context: ToolContext, path: str, content: str) -> ToolOutput:
    """Write a whole file: a new one, or all of the content of one that is there. Folders are made as needed.

    To change part of a file use edit_file: it is shorter and safer.

    Args:
        path: The file, relative to the working folder.
        content: Everything that is to stand in it, without leaving anything out.
    """
    text, line = outcome(apply(_planned(context, path, content)))
    return ToolOutput(text, line=line)
