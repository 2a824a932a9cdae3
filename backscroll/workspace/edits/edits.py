"""Parse the edits in a text, and apply them in one call.

Owns reading every form of edit in the order of the text, and the single call that does everything. The forms:
search/replace blocks (`blocks`), unified diffs (`diff`), patches (`patch`), whole files in fenced blocks
(`fences`). The steps: `parse_edits` → `plan` (checked, previewed) → `apply` (all or nothing) → `undo`. A truncated block is
an error; text without edits gives none.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from backscroll.errors import InvalidInput
from backscroll.workspace.edits import blocks as edits_blocks
from backscroll.workspace.edits import diff as edits_diff
from backscroll.workspace.edits import fences as edits_fences
from backscroll.workspace.edits import patch as edits_patch
from backscroll.workspace.edits.application import EditResult, apply, undo
from backscroll.workspace.edits.edit import Edit, FileDeletion, Hunk, Patch, TextReplacement, WholeFile
from backscroll.workspace.edits.plan import EditPlan, FileEdit, plan
from backscroll.workspace.files.files import Files

__all__ = [
    "Edit",
    "EditPlan",
    "EditResult",
    "FileDeletion",
    "FileEdit",
    "Hunk",
    "Patch",
    "TextReplacement",
    "WholeFile",
    "apply",
    "apply_code_changes",
    "parse_edits",
    "plan",
    "undo",
]

_DIFFS = {"diff", "patch", "udiff"}


def parse_edits(text: str, path: str = "") -> list[Edit]:
    """Return the edits in a text, in their order. `path`: the file of those that name none."""
    lines = text.replace("\r\n", "\n").split("\n")
    return _read(lines[:-1] if lines[-1] == "" else lines, path)


def apply_code_changes(root: str | Path | Files, code_str: str, path: str = "") -> EditResult:
    """Parse the edits in a text, check them, and apply all or none. `undo` reverts them."""
    files = root if isinstance(root, Files) else Files(Path(root))
    edits = parse_edits(code_str, path)
    if not edits:
        raise InvalidInput(
            "the text holds no edits",
            hint="search/replace blocks, unified diffs, and files in fenced blocks with their path are understood",
        )
    return apply(plan(files, edits))


def _read(lines: Sequence[str], known: str) -> list[Edit]:
    edits: list[Edit] = []
    at, within = 0, ""  # the mark of the fence whose lines are being read
    while at < len(lines):
        line = lines[at]
        if edits_blocks.opens(line):
            block, at = edits_blocks.read_block(lines, at, known)
            known = block.path
            edits.append(block)
        elif edits_patch.begins(line):
            several, at = edits_patch.read_patch(lines, at)
            edits += several
        elif edits_diff.begins(lines, at):
            patch, at = edits_diff.read_diff(lines, at)
            known = patch.to or patch.path
            edits.append(patch)
        elif fence := edits_fences.FENCE.match(line):
            if within and fence.group(1).startswith(within) and not fence.group(2).strip():
                at, within = at + 1, ""
                continue
            more, after, known = _read_fence(lines, at, fence.group(2).strip(), known)
            within = fence.group(1) if after == at + 1 else ""
            edits += more
            at = after
        else:
            at += 1
    return edits


def _read_fence(lines: Sequence[str], at: int, info: str, known: str) -> tuple[list[Edit], int, str]:
    """Parse a fenced block: nested edits (then parsing continues inside), a file, or an example."""
    language = info.split(":", 1)[0].split(maxsplit=1)[0].lower() if info.split(":", 1)[0].strip() else ""
    end = edits_fences.closing(lines, at)
    inside = range(at + 1, len(lines) if end is None else end)
    first = next((n for n in inside if lines[n].strip()), at)
    if language in _DIFFS:
        name = edits_fences.name_in(lines[at - 1]) if at else ""
        if first > at and lines[first].startswith("@@") and (name or known):
            patch, after = edits_diff.read_diff(lines, first, name or known)
            closed = after < len(lines) and edits_fences.FENCE.match(lines[after])
            return [patch], after + bool(closed), patch.path
        return [], at + 1, name or known
    if any(_begins(lines, n) for n in inside[:6]):
        return [], at + 1, known
    file, after = edits_fences.read_file(lines, at)
    return ([file], after, file.path) if file else ([], after, known)


def _begins(lines: Sequence[str], at: int) -> bool:
    return edits_blocks.opens(lines[at]) or edits_patch.begins(lines[at]) or edits_diff.begins(lines, at)
