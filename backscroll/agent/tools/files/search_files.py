"""The tool `search_files`: find lines of files that match a pattern."""

from __future__ import annotations

from collections.abc import Mapping

from backscroll.agent.approval.protected_paths import ProtectedPaths
from backscroll.agent.commands.output import one_line
from backscroll.agent.person import Preview
from backscroll.agent.tool import ToolContext, ToolOutput
from backscroll.agent.toolbox import tool
from backscroll.agent.tools.files.folder import files_of
from backscroll.vocab.part import Json
from backscroll.workspace.files import search as searching

_MOST = 200
_AROUND = 10


def _preview(_context: ToolContext, arguments: Mapping[str, Json]) -> Preview:
    path = str(arguments.get("path") or ".")
    words = one_line(str(arguments["pattern"]), 80)
    return Preview(f"search: {words} in {path}", paths=(path,), subject=path)


@tool(effect="read", preview=_preview)
def search_files(
    context: ToolContext,
    pattern: str,
    path: str = ".",
    glob: str = "",
    literal: bool = False,
    ignore_case: bool = False,
    around: int = 0,
) -> ToolOutput:
    """Search files for a regular expression (or for the very words) and return the lines with file and number.

    Use it instead of `grep` and `rg`: ignored, binary and huge files are passed over, and it cannot hang.

    Args:
        pattern: The regular expression, or the words where `literal` is true.
        path: A folder or a file, relative to the working folder.
        glob: Only in files whose names fit, such as `*.py`.
        literal: Look for exactly these characters.
        ignore_case: Take capital and small letters as the same.
        around: How many lines to show before and after each.
    """
    found = searching.search_files(
        files_of(context),
        pattern,
        path=path,
        literal=literal,
        pattern=glob,
        ignore_case=ignore_case,
        context=max(0, min(around, _AROUND)),
        limit=_MOST,
        closed=ProtectedPaths(context.root.resolve()).is_hidden,
    )
    rows = [found.text] if found.hits else [f"nothing found ({found.searched} files searched)"]
    if found.cut:
        rows.append(f"[there are more: {found.stopped or f'the first {len(found.hits)} are shown'}]")
    if found.passed_over:
        rows.append(f"[too large to be searched: {', '.join(found.passed_over[:5])}]")
    if found.shut:
        rows.append(
            f"[{found.shut} protected files not searched; name one as `path`, and the person is asked]"
        )
    many = f"{len(found.hits)}{'+' if found.cut else ''}"
    return ToolOutput("\n".join(rows), line=f"{many} lines in {len(found.counts)} files")
