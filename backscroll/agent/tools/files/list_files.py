"""The tool `list_files`: list the files of a folder, without ignored ones."""

from __future__ import annotations

from collections.abc import Mapping

from backscroll.agent.person import Preview
from backscroll.agent.tool import ToolContext, ToolOutput
from backscroll.agent.toolbox import tool
from backscroll.agent.tools.files.folder import files_of
from backscroll.vocab.part import Json
from backscroll.workspace.files import listing

_MOST = 1_000


def _preview(_context: ToolContext, arguments: Mapping[str, Json]) -> Preview:
    path = str(arguments.get("path") or ".")
    return Preview(f"list: {path}", paths=(path,), subject=path)


@tool(effect="read", preview=_preview)
def list_files(
    context: ToolContext, path: str = ".", depth: int | None = 2, pattern: str = "", everything: bool = False
) -> ToolOutput:
    """List the files and folders below a folder, with sizes. What ignore files leave out is left out.

    Use it to find your way; to find text in files use search_files.

    Args:
        path: The folder, relative to the working folder.
        depth: How many levels: 1 is only what is in the folder; null is all of them.
        pattern: Only files whose names fit, such as `*.py` or `docs/**/*.md`; then all levels are looked at.
        everything: Also what ignore files leave out.
    """
    levels = None if depth is None or pattern else max(1, depth)
    found = listing.list_files(
        files_of(context), path, depth=levels, limit=_MOST, pattern=pattern, everything=everything
    )
    rows = [found.text] if found.entries else ["(nothing)"]
    if found.cut:
        rows.append(f"[there are more than {len(found.entries)}: look into a folder, or give a pattern]")
    if found.ignored:
        rows.append(f"[ignored entries left out: {found.ignored}]")
    many = "1 entry" if len(found.entries) == 1 else f"{len(found.entries)}{'+' if found.cut else ''} entries"
    return ToolOutput("\n".join(rows), line=many)
