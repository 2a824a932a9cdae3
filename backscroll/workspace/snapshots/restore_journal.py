"""The journal of a restore, with everything needed to finish or undo it.

Owns the journal file and the folder of contents beside it (`<journal>.d`: each file before and after), and executing its
steps in either direction. The journal file is created only when the folder is complete, and removed before it: so a journal
always has everything it needs. Planning: `workspace/snapshots/restore`.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from backscroll.errors import FormatError
from backscroll.vocab.part import Json
from backscroll.workspace.files.safe_paths import opened_root, parent_of
from backscroll.workspace.snapshots.file_restore import (
    FileState,
    Tick,
    prune,
    put,
    remove,
    same,
    set_mode,
    state_at,
    sync_folder,
    write_durably,
)

_VERSION = 1


def silent(what: str) -> None:
    """Ignore a report."""


@dataclass(frozen=True, slots=True)
class FileTransition:
    """One file and its two states. None: the file does not exist."""

    path: str
    old: FileState | None
    new: FileState | None


def _nothing() -> Mapping[str, Json]:
    return {}


@dataclass(frozen=True, slots=True)
class RestoreJournal:
    """The record written before any file of the folder is touched."""

    id: str
    root: str
    moves: tuple[FileTransition, ...]
    facts: Mapping[str, Json] = field(default_factory=_nothing)  # for the caller; not read here


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """A file that was left unchanged, and why."""

    path: str
    why: str


def contents_of(journal: Path) -> Path:
    """Return the folder of contents that belongs to a journal file."""
    return journal.with_name(journal.name + ".d")


def new_id() -> str:
    """Return a name for a journal."""
    return secrets.token_hex(8)


def write_journal(path: Path, journal: RestoreJournal, tick: Tick) -> None:
    """Write the journal: from here on the restore will be finished or undone."""
    sync_folder(contents_of(path))
    document = {
        "version": _VERSION,
        "id": journal.id,
        "root": os.fsencode(journal.root).hex(),
        "facts": dict(journal.facts),
        "moves": [
            [os.fsencode(move.path).hex(), _dump_state(move.old), _dump_state(move.new)]
            for move in journal.moves
        ],
    }
    tick("journal")
    write_durably(path, json.dumps(document, ensure_ascii=True).encode("ascii"))


def read_journal(path: Path) -> RestoreJournal | None:
    """Return the journal in a file; None if there is none."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    try:
        document: Json = json.loads(data)
        return RestoreJournal(
            document["id"],
            os.fsdecode(bytes.fromhex(document["root"])),
            tuple(
                FileTransition(os.fsdecode(bytes.fromhex(name)), _state(old), _state(new))
                for name, old, new in document["moves"]
            ),
            document["facts"],
        )
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise FormatError(
            f"the journal of a rewind cannot be read: {path}",
            hint="look at the files beside it, then delete it",
        ) from error


def _dump_state(state: FileState | None) -> Json:
    return None if state is None else [state.kind, state.sha256, state.mode]


def _state(listed: Json) -> FileState | None:
    return None if listed is None else FileState(listed[0], listed[1], listed[2])


def carry_out(
    path: Path, journal: RestoreJournal, tick: Tick, *, back: bool = False
) -> tuple[list[str], list[SkippedFile]]:
    """Bring every file to its new state, or with `back` to its old one. Return the changed paths, and the skipped files.

    Every file is checked first: one already in its target state is done, one in neither state was changed by the user and is
    left alone. So it can be repeated.
    """
    done: list[str] = []
    left: list[SkippedFile] = []
    folder = contents_of(path)
    with opened_root(Path(journal.root)) as root_fd:
        # Deletions first: a file may be where a folder is needed, in different case on some disks.
        numbered = sorted(enumerate(journal.moves), key=lambda one: (_goal(one[1], back) is not None, one[0]))
        for number, move in numbered:
            try:
                _clear_temporary(root_fd, move.path, _temporary(journal.id, number))
                problem = _bring(root_fd, move, number, folder, journal.id, tick, back=back)
            except OSError as error:
                problem = error.strerror or str(error)
            if problem:
                left.append(SkippedFile(move.path, problem))
            else:
                done.append(move.path)
    return done, left


def _goal(move: FileTransition, back: bool) -> FileState | None:
    return move.old if back else move.new


def _bring(
    root_fd: int, move: FileTransition, number: int, folder: Path, identity: str, tick: Tick, *, back: bool
) -> str:
    goal, origin = (move.old, move.new) if back else (move.new, move.old)
    now = state_at(root_fd, move.path)
    if same(now, goal):
        if goal is None:
            prune(root_fd, move.path, tick)  # a kill may have come between a file and its folder
        return ""
    if not same(now, origin):
        return "it was changed since"
    if goal is None:
        remove(root_fd, move.path, tick)
        return ""
    if now is not None and now.sha256 == goal.sha256 and {now.kind, goal.kind} == {"file", "exec"}:
        set_mode(root_fd, move.path, _mode(goal, now), tick)
        return ""
    source = folder / f"{'old' if back else 'new'}-{number}"
    wanted = FileState(goal.kind, goal.sha256, _mode(goal, now if goal.kind != "link" else None))
    put(root_fd, move.path, wanted, source, tick, _temporary(identity, number))
    return ""


def _mode(goal: FileState, now: FileState | None) -> int:
    """Return the mode of a file: as recorded, or that of the replaced file with the executable bit adjusted."""
    mode = goal.mode or (now.mode if now is not None and now.mode else 0o644)
    if goal.kind == "exec":
        return mode | ((mode & 0o444) >> 2)
    return mode & ~0o111


def _temporary(identity: str, number: int) -> str:
    return f".backscroll-{identity}-{number}.tmp"


def _clear_temporary(root_fd: int, path: str, temporary: str) -> None:
    """Remove what a killed run left beside a file."""
    try:
        with parent_of(root_fd, path) as (fd, _):
            os.unlink(temporary, dir_fd=fd)
    except OSError:
        return  # nothing there


def close_journal(path: Path, tick: Tick = silent) -> None:
    """End a restore: remove the journal, then what belongs to it."""
    tick("close")
    path.unlink(missing_ok=True)
    if path.parent.exists():
        sync_folder(path.parent)
    tick("clean")
    shutil.rmtree(contents_of(path), ignore_errors=True)
