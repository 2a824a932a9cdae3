"""The tool `edit_file`: edit some places of one file, all or none.

Refuses: text that is not found, or found more often than stated; an edit that would break the syntax of a valid file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from backscroll.agent.person import Preview
from backscroll.agent.tool import ToolContext, ToolOutput
from backscroll.agent.toolbox import tool
from backscroll.agent.tools.files.folder import edit_preview, files_of, outcome
from backscroll.errors import InvalidInput
from backscroll.vocab.part import Json
from backscroll.workspace.edits.edits import Edit, EditPlan, TextReplacement, apply, parse_edits, plan


@dataclass(frozen=True, slots=True)
class Replacement:
    """One replacement.

    Args:
        old: The text that stands there now, exactly, with enough lines around it to be found only once.
        new: The text that is to stand there instead; empty to delete it.
        replace_all: Replace every place where it stands, however many there are.
    """

    old: str
    new: str
    replace_all: bool = False


def _plan_edits(context: ToolContext, path: str, changes: Sequence[Replacement], text: str) -> EditPlan:
    edits: list[Edit] = [
        TextReplacement(path, each.old, each.new, replace_all=each.replace_all) for each in changes
    ]
    if text.strip():
        found = parse_edits(text, path)
        if not found:
            raise InvalidInput(
                "`text` holds no edits",
                hint="give `edits`, or search/replace blocks or a unified diff in `text`",
            )
        edits += found
    if not edits:
        raise InvalidInput("there are no edits", hint="give `edits`: a list of `old` and `new`")
    return plan(files_of(context), edits)


def _preview(context: ToolContext, arguments: Mapping[str, Json]) -> Preview:
    changes = [Replacement(**each) for each in arguments.get("edits") or ()]
    return edit_preview("edit", _plan_edits(context, arguments["path"], changes, arguments.get("text") or ""))


@tool(effect="write", preview=_preview)
def edit_file(
    context: ToolContext, path: str, edits: list[Replacement] | None = None, text: str = ""
) -> ToolOutput:
    """Change parts of a file: each edit replaces text that stands in the file exactly once. All edits are made, or none.

    Read the file first. Give `edits`, or instead of them search/replace blocks or a unified diff in `text`. If the text is not
    found, the answer shows the nearest lines.

    Args:
        path: The file, relative to the working folder.
        edits: The replacements.
        text: Search/replace blocks or a unified diff, instead of `edits`.
    """
    told, line = outcome(apply(_plan_edits(context, path, edits or (), text)))
    return ToolOutput(told, line=line)
