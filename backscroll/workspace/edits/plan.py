"""Plan edits: compute and check every resulting file before anything is written.

Owns matching all edits against the current files, rejecting overlaps, keeping line ends and encoding, checking syntax and
omitted code, and the preview. Either all edits can be applied or `InvalidInput` names every one that cannot, and why.
Writing: `workspace/edits/application`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import NoReturn

from backscroll.errors import BackscrollError, Conflict, InvalidInput, NotFound
from backscroll.workspace.edits.draft import FileDraft, FileEdit, Syntax
from backscroll.workspace.edits.edit import Edit, FileDeletion, Patch, TextReplacement, WholeFile
from backscroll.workspace.files.files import Files
from backscroll.workspace.files.guard import escape_path
from backscroll.workspace.files.walk import check_name


@dataclass(frozen=True, slots=True)
class FileEdits:
    """Edits file by file, in the order of the paths."""

    files: Files = field(repr=False)
    changes: tuple[FileEdit, ...]
    notes: tuple[str, ...] = ()  # for the user: looser matches, a file that was broken before

    @property
    def diff(self) -> str:
        """All edits as a unified diff."""
        return "".join(change.diff for change in self.changes)

    @property
    def paths(self) -> tuple[str, ...]:
        """The files that change."""
        return tuple(change.path for change in self.changes)

    @property
    def added(self) -> int:
        """Lines added."""
        return sum(change.added for change in self.changes)

    @property
    def removed(self) -> int:
        """Lines removed."""
        return sum(change.removed for change in self.changes)


class EditPlan(FileEdits):
    """Edits that are checked but not yet applied."""

    __slots__ = ()


def plan(files: Files, edits: Sequence[Edit], *, syntax: Syntax = "refuse") -> EditPlan:
    """Check edits against the files; nothing is written."""
    if not edits:
        raise InvalidInput("there are no edits", hint="name at least one")
    drafts: dict[str, FileDraft] = {}
    problems: list[tuple[str, BackscrollError]] = []
    for number, edit in enumerate(edits, 1):
        try:
            _take(files, drafts, edit, number)
        except (InvalidInput, NotFound, Conflict) as error:
            problems.append((_place(edit, number, len(edits)), error))
    changes: list[FileEdit] = []
    notes: list[str] = []
    for path in sorted(drafts):
        try:
            change = drafts[path].finish_draft(files.largest, syntax)
        except (InvalidInput, Conflict) as error:
            if not drafts[path].broken:
                problems.append((escape_path(path), error))
            continue
        if change is not None:
            changes.append(change)
            notes += [f"{escape_path(path)}: {note}" for note in change.notes]
    _no_file_is_a_folder(changes, problems)
    if problems:
        _refuse(problems, len(edits))
    if not changes:
        raise InvalidInput("the edits change nothing", hint="the files already have these contents")
    return EditPlan(files, tuple(changes), tuple(notes))


def _take(files: Files, drafts: dict[str, FileDraft], edit: Edit, number: int) -> None:
    """Add one edit to the others of its file."""
    draft = _draft(files, drafts, edit.path)
    try:
        match edit:
            case TextReplacement():
                draft.replace(edit, number)
            case WholeFile():
                draft.write(edit)
            case FileDeletion():
                _own_file(files, edit.path)
                draft.delete()
            case Patch():
                if edit.to or edit.deleted:
                    _own_file(files, edit.path)
                draft.patch(edit, number)
                if edit.to:
                    _draft(files, drafts, edit.to).come_from(draft, edit)
    except BackscrollError:
        draft.broken = True
        raise


def _draft(files: Files, drafts: dict[str, FileDraft], path: str) -> FileDraft:
    real = files.resolve(path)
    if real not in drafts:
        there = files.content(real) if files.exists(real) else None
        if there is None:
            check_name(PurePosixPath(real).name)
        drafts[real] = FileDraft(real, there)
    return drafts[real]


def _own_file(files: Files, path: str) -> None:
    if files.kind(path) == "link":
        raise InvalidInput(f"{escape_path(path)} is a link", hint="name the file itself")


def _no_file_is_a_folder(changes: Sequence[FileEdit], problems: list[tuple[str, BackscrollError]]) -> None:
    written = {change.path for change in changes if change.after is not None}
    for path in sorted(written):
        inside = next((str(p) for p in PurePosixPath(path).parents if str(p) in written), "")
        if inside:
            error = InvalidInput(
                f"{escape_path(inside)} would be both a file and a folder", hint="choose another name"
            )
            problems.append((escape_path(path), error))


def _place(edit: Edit, number: int, many: int) -> str:
    return f"{escape_path(edit.path)} (edit {number})" if many > 1 else escape_path(edit.path)


def _refuse(problems: Sequence[tuple[str, BackscrollError]], many: int) -> NoReturn:
    first = problems[0][1]
    if len(problems) == 1:
        raise type(first)(_prefix_place(*problems[0]), hint=first.hint, path=problems[0][0])
    every = "\n".join(_prefix_place(place, error) for place, error in problems)
    raise InvalidInput(
        f"{len(problems)} of {many} edits cannot be applied, so none was:\n{every}",
        hint="; ".join(dict.fromkeys(error.hint for _, error in problems if error.hint)),
    )


def _prefix_place(place: str, error: BackscrollError) -> str:
    return error.message if place in error.message else f"{place}: {error.message}"
