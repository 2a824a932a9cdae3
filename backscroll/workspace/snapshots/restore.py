"""Restore the files of a folder from a snapshot.

Owns the plan (what will be written and deleted, what would be lost, what is impossible), executing it so that it can be
finished or undone after a kill at any moment, and recovery at the next start. Files that snapshots leave alone are never
touched. The decision to restore: `engine/folder/rewind`.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Literal, TypeAlias

from backscroll.errors import BackscrollError, Conflict, NotFound, StoreError
from backscroll.vocab.part import Json
from backscroll.workspace.files.safe_paths import link_target, open_file, opened_root, status
from backscroll.workspace.snapshots.file_restore import FileState, Tick, blocked_by, copy_out, write_synced
from backscroll.workspace.snapshots.restore_journal import (
    FileTransition,
    RestoreJournal,
    SkippedFile,
    carry_out,
    close_journal,
    contents_of,
    new_id,
    read_journal,
    silent,
    write_journal,
)
from backscroll.workspace.snapshots.snapshots import SnapshotFile, Snapshots

RestoreAction: TypeAlias = Literal["write", "create", "delete", "mode"]
Outcome: TypeAlias = Literal["nothing", "finished", "rolled back"]


@dataclass(frozen=True, slots=True)
class RestoreStep:
    """What will happen to one file."""

    path: str
    action: RestoreAction  # `create`: nothing is there now; `write`: something else is
    before: SnapshotFile | None  # what is there now; None: nothing that snapshots know
    after: SnapshotFile | None  # what will be there


@dataclass(frozen=True, slots=True)
class RestorePlan:
    """The full effect of restoring a snapshot."""

    keeper: Snapshots
    snapshot: str
    steps: tuple[RestoreStep, ...]
    #: Files whose present content no snapshot holds: it would be lost for good.
    unsaved: tuple[str, ...] = ()
    #: Files that the caller named as changed by others, among those that would be touched.
    foreign: tuple[str, ...] = ()
    #: Files that cannot be restored, and why; they stay as they are.
    impossible: tuple[SkippedFile, ...] = ()

    @property
    def written(self) -> tuple[str, ...]:
        """Files that will have another content."""
        return tuple(step.path for step in self.steps if step.action in {"write", "mode"})

    @property
    def created(self) -> tuple[str, ...]:
        """Files that will be there again."""
        return tuple(step.path for step in self.steps if step.action == "create")

    @property
    def deleted(self) -> tuple[str, ...]:
        """Files that will be gone."""
        return tuple(step.path for step in self.steps if step.action == "delete")


@dataclass(frozen=True, slots=True)
class RestoreReport:
    """What was done."""

    done: tuple[str, ...]
    left: tuple[SkippedFile, ...] = ()  # files that the user changed meanwhile, or that could not be written


@dataclass(frozen=True, slots=True)
class RestoreRecovery:
    """The outcome of recovering an interrupted restore."""

    outcome: Outcome
    done: tuple[str, ...] = ()
    left: tuple[SkippedFile, ...] = ()
    facts: Mapping[str, Json] | None = None  # the caller's facts in the journal


def plan_restore(
    keeper: Snapshots, target: str, *, paths: Sequence[str] = (), foreign: Collection[str] = ()
) -> RestorePlan:
    """Plan the restore of a folder to a snapshot, without changes. `paths`: only these files and folders."""
    wanted, present = keeper.entries(target), keeper.now()
    steps: list[RestoreStep] = []
    impossible: list[SkippedFile] = []
    with opened_root(keeper.root) as root_fd:
        for path in sorted({*wanted, *present}):
            if not _among(path, paths):
                continue
            step, problem = _step(path, present.get(path), wanted.get(path))
            if problem:
                impossible.append(SkippedFile(path, problem))
            elif step is not None and not _there_already(keeper, target, root_fd, step):
                steps.append(step)
        going = {step.path for step in steps if step.after is None}
        sound: list[RestoreStep] = []
        for step in steps:
            blocker = blocked_by(root_fd, step.path, going) if step.after is not None else ""
            if blocker:
                impossible.append(SkippedFile(step.path, f"in the way, and not in any snapshot: {blocker}"))
            else:
                sound.append(step)
        unsaved = [step.path for step in sound if _is_unsaved(keeper, root_fd, step)]
    touched = {step.path for step in sound}
    return RestorePlan(
        keeper,
        target,
        tuple(sound),
        tuple(unsaved),
        tuple(sorted(touched & set(foreign))),
        tuple(sorted(impossible, key=lambda left: left.path)),
    )


def _among(path: str, paths: Sequence[str]) -> bool:
    return not paths or any(f"{path}/".startswith(one.rstrip("/") + "/") for one in paths)


def _step(path: str, now: SnapshotFile | None, then: SnapshotFile | None) -> tuple[RestoreStep | None, str]:
    """Return the step for a file, if any; or why it is impossible."""
    if now is not None and then is not None and (now.hash, now.kind) == (then.hash, then.kind):
        return None, ""
    if then is None:
        return RestoreStep(path, "delete", now, None), ""
    if now is not None and now.hash == then.hash and "link" not in {now.kind, then.kind}:
        return RestoreStep(path, "mode", now, then), ""
    if not then.kept:
        return None, _WHY[then.why]
    return RestoreStep(path, "create" if now is None else "write", now, then), ""


_WHY = {
    "large": "its content was too large to keep",
    "secret": "its content is secret and was not kept",
    "erased": "its content was erased",
    "unreadable": "its content could not be read",
}


def _there_already(keeper: Snapshots, target: str, root_fd: int, step: RestoreStep) -> bool:
    """Return True if a file that is now ignored already has the wanted content."""
    if step.before is not None or step.after is None:
        return False
    found = status(root_fd, step.path)
    if found is None or stat.S_ISDIR(found.st_mode):
        return False
    data = _present(root_fd, step.path, found)
    is_link = stat.S_ISLNK(found.st_mode)
    return (
        data is not None and is_link == (step.after.kind == "link") and data == keeper.read(target, step.path)
    )


def _present(root_fd: int, path: str, found: os.stat_result) -> bytes | None:
    if stat.S_ISLNK(found.st_mode):
        return link_target(root_fd, path)
    if not stat.S_ISREG(found.st_mode):
        return None
    with os.fdopen(open_file(root_fd, path), "rb") as file:
        return file.read()


def _is_unsaved(keeper: Snapshots, root_fd: int, step: RestoreStep) -> bool:
    if step.action == "mode":
        return False
    if step.before is None:  # an ignored file may be there anyway
        found = status(root_fd, step.path)
        return found is not None and not stat.S_ISDIR(found.st_mode)
    return not step.before.kept or not keeper.holds(step.before.hash)


def execute(
    plan: RestorePlan,
    journal: Path,
    *,
    facts: Mapping[str, Json] | None = None,
    keep_journal: bool = False,
    step: Tick = silent,
) -> RestoreReport:
    """Execute a plan. `journal` is a file outside the folder, and must not exist yet.

    First all contents, old and new, are stored beside the journal; then the journal is written; then the files are changed
    one by one. Raises `Conflict` if the folder is not as planned, before anything is changed. With `keep_journal` the journal
    stays until `close_journal`, so that `recover(…, back=True)` can still undo everything. `facts` are written into the
    journal for the caller's own recovery.
    """
    if journal.exists():
        raise Conflict(f"an earlier rewind was not finished: {journal}", hint="finish or undo it first")
    folder = contents_of(journal)
    shutil.rmtree(folder, ignore_errors=True)
    try:
        folder.mkdir(parents=True, mode=0o700)
        with opened_root(plan.keeper.root) as root_fd:
            moves = [
                _prepare_move(plan, root_fd, number, one, folder, step)
                for number, one in enumerate(plan.steps)
            ]
        written = RestoreJournal(new_id(), str(plan.keeper.root), tuple(moves), dict(facts or {}))
        write_journal(journal, written, step)
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise StoreError(
            f"nothing was changed: {error.strerror}: {error.filename or journal}",
            hint="check that the disk is not full and the folder is writable",
        ) from error
    except BackscrollError:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    done, left = carry_out(journal, written, step)
    if not keep_journal:
        close_journal(journal, step)
    return RestoreReport(tuple(done), tuple(left))


def _prepare_move(
    plan: RestorePlan, root_fd: int, number: int, step: RestoreStep, folder: Path, tick: Tick
) -> FileTransition:
    """Return the two states of a file, their contents put aside."""
    old = copy_out(root_fd, step.path, folder / f"old-{number}", tick)
    if not _as_planned(plan, step, old, folder / f"old-{number}"):
        raise Conflict(
            f"{step.path} was modified since the plan was made", hint="make a new plan", path=step.path
        )
    if step.after is None:
        return FileTransition(step.path, old, None)
    if step.action == "mode" and old is not None:
        return FileTransition(step.path, old, FileState(step.after.kind, old.sha256, 0))
    data = plan.keeper.read(plan.snapshot, step.path)
    if data is None:
        raise NotFound(
            f"the content of {step.path} in this snapshot is gone", hint="other snapshots may still be intact"
        )
    tick(f"stage {step.path}")
    write_synced(folder / f"new-{number}", data)
    return FileTransition(step.path, old, FileState(step.after.kind, sha256(data).hexdigest(), 0))


def _as_planned(plan: RestorePlan, step: RestoreStep, old: FileState | None, copied: Path) -> bool:
    if step.before is None:  # nothing, or an ignored file that the plan named as unsaved
        return old is None or step.path in plan.unsaved
    if old is None or old.kind != step.before.kind:
        return False
    return not step.before.kept or plan.keeper.name(copied.read_bytes()) == step.before.hash


def recover(journal: Path, *, back: bool = False, close: bool = True, step: Tick = silent) -> RestoreRecovery:
    """Finish an interrupted restore, or undo it with `back`. Does nothing if there is none.

    Files that the user has changed since are in neither state: they are left alone and reported.
    """
    found = read_journal(journal)
    if found is None:
        shutil.rmtree(contents_of(journal), ignore_errors=True)
        return RestoreRecovery("nothing")
    if not Path(found.root).is_dir():
        raise NotFound(
            f"the folder of an unfinished rewind is gone: {found.root}",
            hint=f"restore it, or delete {journal}",
        )
    done, left = carry_out(journal, found, step, back=back)
    if close:
        close_journal(journal, step)
    return RestoreRecovery("rolled back" if back else "finished", tuple(done), tuple(left), found.facts)
