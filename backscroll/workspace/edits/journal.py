"""The journal of edits under way, for recovery after a crash.

Owns the journal: one file per set of edits under way, outside the edited folder, locked by its process. A process that finds
an unlocked one restores every file, so that an unfinished set of edits never happened. Files that the user has changed since
are left alone and reported.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import secrets
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import cast

from backscroll.errors import BackscrollError, Conflict
from backscroll.vocab.part import Json
from backscroll.workspace.files.files import Files
from backscroll.workspace.files.guard import escape_path
from backscroll.workspace.files.open_flags import CLOEXEC, DIRECTORY
from backscroll.workspace.files.walk import translate_errors
from backscroll.workspace.folder_lock import take_lock


@dataclass(frozen=True, slots=True)
class JournalStep:
    """The change of one file from one content to another. `None`: no file."""

    path: str
    before: bytes | None
    after: bytes | None
    mode_before: int | None = None
    mode_after: int | None = None  # None: the file's own

    @property
    def back(self) -> JournalStep:
        """The reverse step."""
        return JournalStep(self.path, self.after, self.before, self.mode_after, self.mode_before)

    @property
    def hashes(self) -> tuple[str, str]:
        """The hashes of both contents; empty without a file."""
        return _hash(self.before), _hash(self.after)


@dataclass(frozen=True, slots=True)
class EditJournal:
    """A journal on disk, locked as long as it is open."""

    id: str
    path: Path
    steps: tuple[JournalStep, ...]
    folders: tuple[str, ...]  # folders to create, outermost first

    def beside(self, number: int) -> str:
        """Return the temporary name for the new content of a step."""
        return f".bs-{self.id}-{number}.part"

    def close(self) -> None:
        """Remove the journal after the edits are done or undone, and sync: a journal that reappeared would revert them."""
        with translate_errors(str(self.path)):
            self.path.unlink()
            _sync(self.path.parent)


@contextmanager
def note_steps(files: Files, steps: Sequence[JournalStep]) -> Generator[EditJournal]:
    """Write the journal of these steps. It stays if the block ends with an error; `close` removes it."""
    name = secrets.token_hex(8)
    folders = _missing(files, steps)
    data = {
        "format": 1,
        "root": os.fsencode(files.root).hex(),
        "folders": [os.fsencode(folder).hex() for folder in folders],
        "steps": [
            {
                "path": os.fsencode(step.path).hex(),  # a name may not be valid text
                "before": None if step.before is None else base64.b64encode(step.before).decode("ascii"),
                "after": step.hashes[1],
                "mode": step.mode_before,
            }
            for step in steps
        ],
    }
    path = files.journal / f"{name}.json"
    with translate_errors(str(files.journal)):
        files.journal.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = os.open(path.with_suffix(".new"), os.O_RDWR | os.O_CREAT | os.O_EXCL | CLOEXEC, 0o600)
    try:
        with translate_errors(str(path)):
            take_lock(file, shared=False)  # no other process knows the file yet
            view = memoryview(json.dumps(data).encode("ascii"))
            while view:
                view = view[os.write(file, view) :]
            os.fsync(file)
            path.with_suffix(".new").rename(path)
            _sync(files.journal)
        yield EditJournal(name, path, tuple(steps), folders)
    finally:
        os.close(file)
        with suppress(OSError):  # it was renamed; leftovers are removed by the next recovery
            path.with_suffix(".new").unlink()


def recover(files: Files) -> list[str]:
    """Revert every set of edits that a crash left unfinished; return a sentence about each finding."""
    notes: list[str] = []
    if not files.journal.is_dir():
        return notes
    for path in sorted(files.journal.iterdir()):
        if path.suffix not in (".json", ".new"):
            continue
        with suppress(FileNotFoundError), path.open("r+b") as file:
            if not take_lock(file.fileno(), shared=False):
                continue  # another process is working on it
            if os.fstat(file.fileno()).st_nlink == 0:
                continue
            if path.suffix == ".new" or _undo_journal(files, path.stem, file.read(), notes):
                path.unlink()
    return notes


def _undo_journal(files: Files, name: str, data: bytes, notes: list[str]) -> bool:
    """Restore the files of one journal; False if writing failed and the journal is still needed."""
    was: dict[str, Json] = json.loads(data)
    back, foreign, stuck = list[str](), list[str](), list[str]()
    for number, step in reversed(list(enumerate(cast("list[dict[str, Json]]", was["steps"])))):
        path = os.fsdecode(bytes.fromhex(step["path"]))
        before = None if step["before"] is None else base64.b64decode(step["before"])
        clear(files, path, f".bs-{name}-{number}.part")
        try:
            found = put_back(files, path, before, step["after"], step["mode"])
        except Conflict:
            found = None
        except BackscrollError:
            stuck.append(escape_path(path))
            continue
        if found is None:
            foreign.append(escape_path(path))
        elif found:
            back.append(escape_path(path))
    for folder in reversed(was["folders"]):
        with suppress(BackscrollError):
            files.remove_folder(os.fsdecode(bytes.fromhex(folder)))
    if back:
        notes.append(f"edits that were broken off are undone: {', '.join(sorted(back))}")
    if foreign:
        notes.append(f"interrupted edits whose files were modified since: {', '.join(sorted(foreign))}")
    if stuck:
        notes.append(f"edits that were broken off could not be undone: {', '.join(sorted(stuck))}")
    return not stuck


def put_back(files: Files, path: str, before: bytes | None, after: str, mode: int | None) -> bool | None:
    """Restore one file: True if that was necessary, None if the user has changed it since."""
    now, was = files.hash(path), _hash(before)
    if now == was and was != after:
        return False
    if now != after:
        return None
    if before is None:
        files.delete(path, expected=now)
    else:
        files.write(path, before, expected=now, mode=mode)
    return True


def clear(files: Files, path: str, beside: str) -> None:
    """Remove the half-written file of a step, if there is one."""
    with (
        suppress(BackscrollError, FileNotFoundError),
        files.walker.at(str(PurePosixPath(path).parent)) as spot,
    ):
        if spot.kind == "folder":
            os.unlink(beside, dir_fd=spot.folder)


def _missing(files: Files, steps: Sequence[JournalStep]) -> tuple[str, ...]:
    found: set[str] = set()
    for step in steps:
        if step.after is None:
            continue
        for parent in PurePosixPath(step.path).parents:
            folder = str(parent)
            if folder in ("", ".", "/") or folder in found:
                continue
            if not files.exists(folder):
                found.add(folder)
    return tuple(sorted(found, key=lambda folder: (folder.count("/"), folder)))


def _hash(data: bytes | None) -> str:
    return "" if data is None else hashlib.sha256(data).hexdigest()


def _sync(folder: Path) -> None:
    opened = os.open(folder, os.O_RDONLY | DIRECTORY | CLOEXEC)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
