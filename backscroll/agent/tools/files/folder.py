"""The folder that tools work in: accessible files, protected ones, and how an edit is shown.

Owns which paths are protected besides the usual ones (the store, our own settings and permissions), and the preview of a plan of
edits. Refuses: the protection itself (`workspace/files/files`).
"""

from __future__ import annotations

from pathlib import Path

from backscroll.agent.person import Preview
from backscroll.agent.tool import ToolContext
from backscroll.config import config_file, default_store
from backscroll.engine.folder.files import store_files
from backscroll.workspace.edits.edits import EditPlan, EditResult
from backscroll.workspace.files.files import Files


def files_of(context: ToolContext) -> Files:
    """Return the files of the folder, with our own store and settings inaccessible."""
    store = context.thread.engine.settings.store
    named = Path(store).expanduser() if store and "://" not in store else default_store()
    # The data folder holds snapshots and journals, the configuration folder keys and permissions.
    return Files(
        context.root,
        protected=[str(path) for path in (*store_files(named), default_store().parent, config_file().parent)],
    )


def edit_preview(word: str, plan: EditPlan) -> Preview:
    """Return a plan of edits as a preview for the user."""
    named = ", ".join(plan.paths[:3]) + (f" and {len(plan.paths) - 3} more" if len(plan.paths) > 3 else "")
    gone = [f"deletes {change.path}" for change in plan.changes if change.action == "deleted"]
    return Preview(
        f"{word}: {named} (+{plan.added} −{plan.removed})",
        diff=plan.diff,
        paths=plan.paths,
        subject=plan.paths[0] if len(plan.paths) == 1 else "",
        warnings=(*gone, *plan.notes),
    )


def outcome(applied: EditResult) -> tuple[str, str]:
    """Return what a set of edits did: the text for the model, and the line for the user."""
    rows = [
        f"{change.action} {change.path} (+{change.added} −{change.removed})" for change in applied.changes
    ]
    line = rows[0] if len(rows) == 1 else f"{len(rows)} files (+{applied.added} −{applied.removed})"
    return "\n".join([*rows, *(f"note: {note}" for note in applied.notes)]), line
