"""A thread and the folder that its agent works in: scan it, and record what changed.

Owns scanning the folder: every difference between two scans is recorded once, with its cause, in whichever thread sees it
first. File contents are kept by `workspace`. `engine/folder/workroom` adds what callers do with it, and passes itself down
to `blame`, `rewind` and `commits`.
"""

from __future__ import annotations

import os
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from backscroll.config import default_store
from backscroll.engine.core.language import language_of
from backscroll.engine.core.signatures import doors
from backscroll.engine.folder import attribution as changing_parting
from backscroll.engine.folder import change_query as changing_reading
from backscroll.engine.folder.change_log import (
    LONGEST,
    ChangeDraft,
    ChangeRecord,
    FolderState,
    keep_known,
    keep_seen_programs,
    known_of,
    place_of,
    seen_programs,
    write_change,
)
from backscroll.engine.folder.files import store_files
from backscroll.errors import InvalidInput
from backscroll.vocab.change import Cause, CodeChange, FileChange
from backscroll.vocab.event import Event
from backscroll.workspace.folder_lock import hold_lock
from backscroll.workspace.git.git import git_found
from backscroll.workspace.git.trust import programs_of
from backscroll.workspace.own_writes import OwnWrite, taken_notes
from backscroll.workspace.snapshots.snapshots import Snapshots

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import ThreadScope

What: TypeAlias = Literal["both", "files", "conversation"]
_PATIENCE = 60.0  # seconds to wait for another process that uses the same folder
_SKEW = 1.0  # seconds by which file times may lag behind the clock
_ASKED = 40  # messages among which the last question is searched
PERSON = Cause("person")


@doors
class FolderScope(ABC):
    """One thread and one folder."""

    def __init__(
        self,
        thread: ThreadScope,
        root: str | os.PathLike[str],
        *,
        keeper: Snapshots | None = None,
        home: str | os.PathLike[str] | None = None,
    ) -> None:
        self.thread = thread
        self.root = _folder(root)
        self.home = Path(home).expanduser().absolute() if home is not None else default_home()
        self.place = place_of(self.root)
        self._keeper = keeper
        self._mine = threading.RLock()
        self._depth = 0
        self._programs_noted = False

    @property
    def keeper(self) -> Snapshots:
        """The snapshots of the folder; opened on first use."""
        if self._keeper is None:
            self._keeper = self._open_snapshots()
        return self._keeper

    def _open_snapshots(self, git: bool | None = None) -> Snapshots:
        # start-up: an agent starts without it
        from backscroll.workspace.snapshots.keeper_choice import snapshots_for

        settings = self.thread.engine.settings
        store = self.thread.store.location
        return snapshots_for(
            self.root,
            self.home,
            key_files=settings.workspace_key_files,
            largest=settings.workspace_largest,
            left_out=[] if "://" in store else [str(path) for path in store_files(Path(store))],
            git=git,
        )

    def keepers(self) -> list[Snapshots]:
        """Return all snapshot stores of the folder, including those from before a git repository was added or removed."""
        other = "hashes" if self.keeper.keeper == "git" else "git"
        if not self._has_snapshots(other) or (other == "git" and not git_found()):
            return [self.keeper]
        return [self.keeper, self._open_snapshots(other == "git")]

    def out_of_reach(self) -> list[str]:
        """Return which snapshots cannot be read here."""
        if git_found() or not self._has_snapshots("git"):
            return []
        return [f"snapshots that git made of {self.root}; install git and do it again, or drop all snapshots"]

    def _has_snapshots(self, kind: str) -> bool:
        from backscroll.workspace.snapshots.home import home_of  # start-up: an agent starts without it

        return (home_of(self.root, self.home.resolve()) / kind).exists()

    # -- scanning --------------------------------------------------------------------------------------------

    def look(self) -> str:
        """Return a snapshot of the folder as it is now; unrecorded changes are recorded as manual edits."""
        with self.alone():
            return self.note(PERSON)[0]

    def looked(self, before: str, cause: Cause) -> CodeChange | None:
        """Scan again after an action and record the difference with its cause; None if there is none.

        `before` is what `look` returned. What another thread has recorded meanwhile is not recorded twice.
        """
        with self.alone():
            return self.note(cause, before)[1]

    def auto_detect_code_changes(self) -> list[CodeChange]:
        """Return what changed since the last scan, recorded as manual edits."""
        with self.alone():
            found = self.note(PERSON)[1]
        return [] if found is None else [found]

    def note(self, cause: Cause, before: str = "") -> tuple[str, CodeChange | None]:
        """Return a snapshot, and the change that was recorded for it; the caller holds the lock."""
        keeper, known, began = self.keeper, self.read_known(), time.time()
        if not self._programs_noted:
            self.note_programs()
        now, wrote = keeper.take(), taken_notes(self.root)
        base = next((s for s in (known.snapshot, before) if s and (s == now or keeper.has(s))), "")
        if base == now and known.snapshot == now:
            return now, None
        files = self._differing(base, now, known.at) if base and base != now else ()
        if not files:
            self.thread.store.write(lambda tx: keep_known(tx, self.place, now, began))
            return now, None
        drafts = self._drafts(base, now, files, cause, known.at, began, wrote)
        events = self.thread.stroke(lambda pen: [write_change(pen, draft) for draft in drafts])
        mine = [event for event, draft in zip(events, drafts, strict=True) if draft.cause == cause]
        return now, self.read_change(mine[0]) if mine else None

    def _drafts(
        self,
        base: str,
        now: str,
        files: tuple[FileChange, ...],
        cause: Cause,
        seen: float,
        began: float,
        wrote: Sequence[OwnWrite] | None,
    ) -> list[ChangeDraft]:
        """Return what changed between two scans: one change, or several if the tool's own work can be told from that of others."""
        parts = changing_parting.split_change(self.keeper, base, now, cause, wrote)
        found = [(part, self._differing(part.before, part.after, seen)) for part in parts]
        if not found or not all(some for _, some in found):
            return [self.draft(base, now, files, cause, at=began)]
        return [
            replace(
                self.draft(part.before, part.after, some, cause if part.own else PERSON, at=began),
                own=part.own,
            )
            for part, some in found
        ]

    def note_programs(self) -> None:
        """Record which programs the repository would run on commit, before an agent could add any; once per folder."""
        self._programs_noted = True
        if self.thread.store.read(lambda reader: seen_programs(reader, self.place)) is None:
            keys = [program.key for program in programs_of(self.root)] if git_found() else []
            self.thread.store.write(lambda tx: keep_seen_programs(tx, self.place, keys))

    def read_known(self) -> FolderState:
        """Return what the store knows about the folder."""
        return self.thread.store.read(lambda reader: known_of(reader, self.place))

    def _differing(self, before: str, after: str, seen: float) -> tuple[FileChange, ...]:
        """Return what changed between two snapshots.

        A file that was merely added to or removed from an ignore rule did not change, and no rewind may delete it.
        """
        found = self.keeper.compare(before, after)
        ruled = any(Path(path).name == ".gitignore" for f in found for path in (f.path, f.old_path) if path)
        return tuple(f for f in found if not (ruled and _only_ignored(self.root / f.path, f, seen)))

    def draft(
        self,
        before: str,
        after: str,
        files: Sequence[FileChange],
        cause: Cause,
        *,
        rewind: str = "",
        redo: str = "",
        turn: int = 0,
        at: float = 0.0,
    ) -> ChangeDraft:
        """Return a change to be logged, with its description and a diff of bounded length."""
        from backscroll.workspace.descriptions import describe  # start-up: an agent starts without it

        keeper = self.keeper
        words = describe(
            files,
            lambda path: keeper.read(before, path),
            lambda path: keeper.read(after, path),
            language=self._language(),
        )
        paths = sorted({path for f in files for path in (f.path, f.old_path) if path})
        diff = keeper.diff(before, after, paths, longest=LONGEST)
        return ChangeDraft(
            self.place,
            str(self.root),
            before,
            after,
            tuple(files),
            cause,
            words,
            diff,
            rewind,
            redo,
            turn,
            at,
        )

    def read_change(self, event: Event) -> CodeChange:
        """Return a change that was just written, as it is read back."""
        return self.thread.reading(lambda view: changing_reading.add_turn_number(view, event))

    def _language(self) -> str:
        """Return the language of the thread or the settings, else that of the user's request."""
        named = self.thread.legible.info.language or self.thread.engine.settings.language
        if not named:
            asked = (m.text for m in reversed(self.thread.legible.recent(_ASKED)) if m.role == "user")
            named = language_of(next(asked, "")[:2000])
        return "zh" if named.lower().startswith("zh") else "en"

    def everywhere(self) -> list[ChangeRecord]:
        """Return every change of the folder in the store, in any thread, oldest first."""
        return changing_reading.everywhere(self.thread.engine, self.place, str(self.root), self.thread.id)

    # -- the folder ------------------------------------------------------------------------------------------

    def inside(self, path: str | os.PathLike[str] | None) -> str | None:
        """Return a path relative to the folder, as changes name it."""
        if path is None:
            return None
        given = Path(path).expanduser()
        given = Path(os.path.normpath(given))
        if not given.is_absolute():
            return given.as_posix()
        for whole in (given, given.parent.resolve() / given.name):
            if whole.is_relative_to(self.root):
                return whole.relative_to(self.root).as_posix()
        raise InvalidInput(f"{path} is not in {self.root}", hint="give a file of the folder")

    @contextmanager
    def alone(self, *, recovering: bool = False) -> Generator[None]:
        """Hold the folder's lock; an interrupted rewind is completed first."""
        with self._mine:
            if self._depth:  # this OS thread holds it already
                yield
                return
            with hold_lock(self.home / "locks" / f"{self.place}.lock", _PATIENCE):
                self._depth = 1
                try:
                    if not recovering:
                        self.finish_interrupted()
                    yield
                finally:
                    self._depth = 0

    @abstractmethod
    def finish_interrupted(self) -> None:
        """Complete or roll back a rewind that a crash interrupted; the caller holds the lock."""


def default_home() -> Path:
    """Return where snapshots are kept: beside the default store."""
    return default_store().parent / "shadow"


def _folder(root: str | os.PathLike[str]) -> Path:
    path = Path(root).expanduser()
    if not path.is_dir():
        raise InvalidInput(f"not a folder: {root}", hint="name the folder that the agent works in")
    return path.resolve()


def _only_ignored(path: Path, file: FileChange, seen: float) -> bool:
    """Return True for a file that became ignored or no longer is, and is otherwise as it was at the last scan."""
    if file.action not in ("added", "deleted"):
        return False
    try:
        noted = path.lstat().st_ctime
    except OSError:
        return False
    return file.action == "deleted" or (seen > 0 and noted < seen - _SKEW)
