"""The tool `write_file`: write a whole file, new or replacing an existing one.

Refuses: what is outside the folder or protected.
"""

from __future__ import annotations

from collections.abc import Mapping

from backscroll.agent.person import Preview
from backscroll.agent.tool import ToolContext, ToolOutput
from backscroll.agent.toolbox import tool
from backscroll.agent.tools.files.folder import edit_preview, files_of, outcome
from backscroll.vocab.part import Json
from backscroll.workspace.edits.edits import EditPlan, WholeFile, apply, plan


def _plan_write(context: ToolContext, path: str, content: str) -> EditPlan:
    # A file that is written as a whole may be a template or a draft: broken syntax is reported, not refused.
    return plan(files_of(context), [WholeFile(path, content)], syntax="warn")


def _preview(context: ToolContext, arguments: Mapping[str, Json]) -> Preview:
    return edit_preview("write", _plan_write(context, arguments["path"], arguments["content"]))


@tool(effect="write", preview=_preview)
def write_file(context: ToolContext, path: str, content: str) -> ToolOutput:
    """Write a whole file: a new one, or all of the content of one that is there. Folders are made as needed.

    To change part of a file use edit_file: it is shorter and safer.

    Args:
        path: The file, relative to the working folder.
        content: Everything that is to stand in it, without leaving anything out.
    """
    text, line = outcome(apply(_plan_write(context, path, content)))
    return ToolOutput(text, line=line)
