"""Apply a plan of edits, all or nothing, and revert it.

Owns the sequence: check again that every file is as planned, write the journal (`workspace/edits/journal`), write the files,
and on any failure restore everything. Reverting works the same way and refuses files that the user has changed since.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from backscroll.errors import BackscrollError, Conflict
from backscroll.workspace.edits.draft import FileEdit
from backscroll.workspace.edits.journal import EditJournal, JournalStep, clear, note_steps, put_back
from backscroll.workspace.edits.plan import EditPlan, FileEdits
from backscroll.workspace.files.files import Files
from backscroll.workspace.files.guard import escape_path
from backscroll.workspace.own_writes import OwnWrite, note_wrote


@dataclass(frozen=True, slots=True)
class EditResult(FileEdits):
    """Applied edits. `undo` reverts them."""

    folders: tuple[str, ...] = ()  # folders created for it, outermost first


def apply(plan: EditPlan) -> EditResult:
    """Apply all edits of a plan, or none: `Conflict` if a file changed since the plan was made."""
    folders = _perform(plan.files, [_step(change) for change in plan.changes], "since the edits were planned")
    return EditResult(plan.files, plan.changes, plan.notes, folders)


def undo(applied: EditResult) -> None:
    """Revert edits, all or none: `Conflict` if a file changed since they were applied."""
    steps = [_step(change).back for change in applied.changes]
    _perform(applied.files, steps, "since the edits were made")
    for folder in reversed(applied.folders):
        applied.files.remove_folder(folder)


def _step(change: FileEdit) -> JournalStep:
    mode = change.mode if change.mode is not None else change.mode_before
    return JournalStep(change.path, change.before, change.after, change.mode_before, mode)


def _perform(files: Files, steps: Sequence[JournalStep], since: str) -> tuple[str, ...]:
    note_wrote(files.root)
    changed = [escape_path(step.path) for step in steps if files.hash(step.path) != step.hashes[0]]
    if changed:
        raise Conflict(
            f"modified by another process {since}: {', '.join(changed)}",
            hint="nothing was written; read the files again",
        )
    # New files first: if a name is not available, nothing has been deleted yet.
    ordered = sorted(steps, key=lambda step: (step.after is None, step.path))
    with note_steps(files, ordered) as entry:
        begun = 0
        try:
            for number, step in enumerate(ordered):
                begun = number + 1
                _one(files, step, entry.beside(number))
            entry.close()
        except BaseException:
            # An interrupt must also leave all or nothing.
            _roll_back(files, ordered[:begun], entry)
            raise
    note_wrote(files.root, (OwnWrite(step.path, step.before, step.after) for step in ordered))
    return entry.folders


def _one(files: Files, step: JournalStep, beside: str) -> None:
    before = step.hashes[0]
    if step.after is None:
        files.delete(step.path, expected=before)
    else:
        files.write(step.path, step.after, expected=before, mode=step.mode_after, beside=beside)


def _roll_back(files: Files, begun: Sequence[JournalStep], entry: EditJournal) -> None:
    """Revert the steps begun; the last one may or may not have run."""
    stuck: list[str] = []
    for number, step in reversed(list(enumerate(begun))):
        clear(files, step.path, entry.beside(number))
        try:
            found = put_back(files, step.path, step.before, step.hashes[1], step.mode_before)
        except BackscrollError as error:
            stuck.append(f"{escape_path(step.path)}: {error.message}")
            continue
        if found is None and number < len(begun) - 1:
            stuck.append(f"{escape_path(step.path)}: conflict: modified since it was read")
    for folder in reversed(entry.folders):
        with suppress(BackscrollError):
            files.remove_folder(folder)
    if stuck:
        raise BackscrollError(
            f"edits failed and some could not be reverted: {'; '.join(stuck)}",
            hint="the next start tries again; the old contents are kept until then",
        )
    with suppress(
        BackscrollError, FileNotFoundError
    ):  # it may be closed; a journal of reverted steps does no harm
        entry.close()
