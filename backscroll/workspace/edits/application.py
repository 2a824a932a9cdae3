"""Making a plan true: all of it or nothing; and taking it back.

Owns the order of things: look once more whether every file is what the plan was made from, note what is about to be done
(`edits_journal`), write, and on any failure put everything back. Taking back is the same the other way round and refuses where
somebody changed a file since. Before: `edits_plan`, `edits_journal`. After: `edits`.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from backscroll.errors import BackscrollError, Conflict
from backscroll.workspace.edits.draft import Planned
from backscroll.workspace.edits.journal import Entry, Step, clear, noted, put_back
from backscroll.workspace.edits.plan import Plan
from backscroll.workspace.files.files import Files
from backscroll.workspace.files.guard import shown
from backscroll.workspace.wrote import Wrote, note_wrote


@dataclass(frozen=True, slots=True)
class Applied:
    """Edits that were made. `undo` takes them back."""

    files: Files = field(repr=False)
    changes: tuple[Planned, ...]
    notes: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()  # that were made for it, outermost first

    @property
    def diff(self) -> str:
        """All of it as a unified diff."""
        return "".join(change.diff for change in self.changes)

    @property
    def paths(self) -> tuple[str, ...]:
        """The files that changed."""
        return tuple(change.path for change in self.changes)

    @property
    def added(self) -> int:
        """Lines that came."""
        return sum(change.added for change in self.changes)

    @property
    def removed(self) -> int:
        """Lines that went."""
        return sum(change.removed for change in self.changes)


def apply(plan: Plan) -> Applied:
    """Make all edits of a plan, or none: `Conflict` where a file changed since the plan was made."""
    folders = _perform(plan.files, [_step(change) for change in plan.changes], "since the edits were planned")
    return Applied(plan.files, plan.changes, plan.notes, folders)


def undo(applied: Applied) -> None:
    """Take edits back, all or none: `Conflict` where a file changed since they were made."""
    steps = [_step(change).back for change in applied.changes]
    _perform(applied.files, steps, "since the edits were made")
    for folder in reversed(applied.folders):
        applied.files.remove_folder(folder)


def _step(change: Planned) -> Step:
    mode = change.mode if change.mode is not None else change.mode_before
    return Step(change.path, change.before, change.after, change.mode_before, mode)


def _perform(files: Files, steps: Sequence[Step], since: str) -> tuple[str, ...]:
    note_wrote(files.root)
    changed = [shown(step.path) for step in steps if files.hash(step.path) != step.hashes[0]]
    if changed:
        raise Conflict(
            f"changed by somebody else {since}: {', '.join(changed)}",
            hint="nothing was written; look at the files again",
        )
    # New files first: where a name cannot be had, nothing is deleted yet.
    ordered = sorted(steps, key=lambda step: (step.after is None, step.path))
    with noted(files, ordered) as entry:
        begun = 0
        try:
            for number, step in enumerate(ordered):
                begun = number + 1
                _one(files, step, entry.beside(number))
            entry.close()
        except BaseException:
            # An interrupt, too, leaves all or nothing behind.
            _roll_back(files, ordered[:begun], entry)
            raise
    note_wrote(files.root, (Wrote(step.path, step.before, step.after) for step in ordered))
    return entry.folders


def _one(files: Files, step: Step, beside: str) -> None:
    before = step.hashes[0]
    if step.after is None:
        files.delete(step.path, expected=before)
    else:
        files.write(step.path, step.after, expected=before, mode=step.mode_after, beside=beside)


def _roll_back(files: Files, begun: Sequence[Step], entry: Entry) -> None:
    """Put back what was done of the steps; the last one may or may not have been."""
    stuck: list[str] = []
    for number, step in reversed(list(enumerate(begun))):
        clear(files, step.path, entry.beside(number))
        try:
            found = put_back(files, step.path, step.before, step.hashes[1], step.mode_before)
        except BackscrollError as error:
            stuck.append(f"{shown(step.path)}: {error.message}")
            continue
        if found is None and number < len(begun) - 1:
            stuck.append(f"{shown(step.path)}: somebody changed it meanwhile")
    for folder in reversed(entry.folders):
        with suppress(BackscrollError):
            files.remove_folder(folder)
    if stuck:
        raise BackscrollError(
            f"edits failed, and some could not be taken back: {'; '.join(stuck)}",
            hint="it is tried again at the next start; the old contents are kept until then",
        )
    with suppress(
        BackscrollError, FileNotFoundError
    ):  # it may be closed; and a note of what is undone does no harm
        entry.close()
