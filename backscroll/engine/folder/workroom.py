"""The workroom: a thread and the folder that its agent works in, linked.

Owns looking at the folder (every difference between two looks is written down once, with its cause, in whichever thread
sees it first) and is the one thing that callers hold: `blame`, `rewind` and `commit` live in modules of their own. Refuses:
keeping contents (`workspace`). Before: `workspace/snapshots/snapshots`, `engine/folder/change_log`. After: `engine/folder/blame`,
`engine/folder/rewind`, `engine/folder/commits`; `act` and the surfaces call it.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from backscroll.config import default_store
from backscroll.engine.core.checks import checked_path
from backscroll.engine.core.doors import doors
from backscroll.engine.core.language import language_of
from backscroll.engine.exchange.files import store_files
from backscroll.engine.folder import change_reading as changing_reading
from backscroll.engine.folder import parting as changing_parting
from backscroll.engine.folder.change_log import (
    LONGEST,
    Draft,
    Known,
    Recorded,
    keep_known,
    keep_seen_programs,
    known_of,
    place_of,
    seen_programs,
    write_change,
)
from backscroll.errors import InvalidInput
from backscroll.vocab.change import Cause, CodeChange, FileChange
from backscroll.vocab.event import Event
from backscroll.workspace.holding import held
from backscroll.workspace.snapshots.snapshots import Snapshots
from backscroll.workspace.wrote import Wrote, taken_notes

if TYPE_CHECKING:
    from backscroll.engine.folder import erasure as changing_forgetting
    from backscroll.engine.folder.blame import Blamed
    from backscroll.engine.folder.commits import Committed
    from backscroll.engine.folder.rewind import Rewound
    from backscroll.engine.folder.rewind_journal import Recovery
    from backscroll.engine.thread import Thread

What: TypeAlias = Literal["both", "files", "conversation"]
_PATIENCE = 60.0  # seconds that one waits for whoever is at work on the same folder
_SKEW = 1.0  # seconds by which the times of files may be behind the clock
_ASKED = 40  # messages among which the last question is looked for
PERSON = Cause("person")


@doors
class Workroom:
    """One thread and one folder. Opening one finishes what a crash in the middle of a rewind left undone."""

    def __init__(
        self,
        thread: Thread,
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
        self.recovered: Recovery | None = self.recover()

    def __repr__(self) -> str:
        return f"<Workroom {self.thread.id[:8]} {str(self.root)!r}>"

    @property
    def keeper(self) -> Snapshots:
        """Who keeps the snapshots; made when first asked for."""
        if self._keeper is None:
            self._keeper = self._opened()
        return self._keeper

    def _opened(self, git: bool | None = None) -> Snapshots:
        from backscroll.workspace.snapshots.keeping import snapshots_for

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
        """Who keeps snapshots of the folder: also who did when there was no git here, or when there was one."""
        from backscroll.workspace.git.git import git_found

        other = "hashes" if self.keeper.keeper == "git" else "git"
        if not self._kept(other) or (other == "git" and not git_found()):
            return [self.keeper]
        return [self.keeper, self._opened(other == "git")]

    def out_of_reach(self) -> list[str]:
        """What of the snapshots cannot be read here."""
        from backscroll.workspace.git.git import git_found

        if git_found() or not self._kept("git"):
            return []
        return [f"snapshots that git made of {self.root}; install git and do it again, or drop all snapshots"]

    def _kept(self, kind: str) -> bool:
        from backscroll.workspace.snapshots.home import home_of

        return (home_of(self.root, self.home.resolve()) / kind).exists()

    # -- looking ---------------------------------------------------------------------------------------------

    def look(self) -> str:
        """A snapshot of the folder as it is now; what nobody has written down yet is noted as done by a person."""
        with self.alone():
            return self.note(PERSON)[0]

    def looked(self, before: str, cause: Cause) -> CodeChange | None:
        """Look again after something was done: what differs is written down with its cause; None where nothing does.

        `before` is what `look` gave. What another thread has written down meanwhile is not written down twice.
        """
        with self.alone():
            return self.note(cause, before)[1]

    def auto_detect_code_changes(self) -> list[CodeChange]:
        """What changed since the last look, noted as done by a person."""
        with self.alone():
            found = self.note(PERSON)[1]
        return [] if found is None else [found]

    def note(self, cause: Cause, before: str = "") -> tuple[str, CodeChange | None]:
        """A snapshot, and the change that was written down for it; for whoever holds the lock."""
        keeper, known, began = self.keeper, self.known(), time.time()
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
        return now, self.told(mine[0]) if mine else None

    def _drafts(
        self,
        base: str,
        now: str,
        files: tuple[FileChange, ...],
        cause: Cause,
        seen: float,
        began: float,
        wrote: Sequence[Wrote] | None,
    ) -> list[Draft]:
        """What happened between two looks: one change, or several where the tool's own work can be told from that of others."""
        parts = changing_parting.parted(self.keeper, base, now, cause, wrote)
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
        """Which programs the repository would run in a commit, before an agent could add to them; noted once for a folder."""
        self._programs_noted = True
        if self.thread.store.read(lambda reader: seen_programs(reader, self.place)) is None:
            from backscroll.workspace.git.git import git_found
            from backscroll.workspace.git.trust import programs_of

            keys = [program.key for program in programs_of(self.root)] if git_found() else []
            self.thread.store.write(lambda tx: keep_seen_programs(tx, self.place, keys))

    def known(self) -> Known:
        """What the store knows about the folder."""
        return self.thread.store.read(lambda reader: known_of(reader, self.place))

    def _differing(self, before: str, after: str, seen: float) -> tuple[FileChange, ...]:
        """What changed between two snapshots.

        A file that only came under an ignore rule is still there, and one that only came out of one was there before: neither
        changed, and no rewind may take either away.
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
    ) -> Draft:
        """A change on its way into the log, with its description and a diff that is not too long."""
        from backscroll.workspace.telling import describe

        keeper = self.keeper
        words = describe(
            files,
            lambda path: keeper.read(before, path),
            lambda path: keeper.read(after, path),
            language=self._language(),
        )
        paths = sorted({path for f in files for path in (f.path, f.old_path) if path})
        diff = keeper.diff(before, after, paths, longest=LONGEST)
        return Draft(
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

    def told(self, event: Event) -> CodeChange:
        """A change that was just written, as it can be read back."""
        return self.thread.reading(lambda view: changing_reading.numbered(view, event))

    def _language(self) -> str:
        """That of the thread or of the settings, else the one in which the person asked."""
        named = self.thread.legible.info.language or self.thread.engine.settings.language
        if not named:
            asked = (m.text for m in reversed(self.thread.legible.recent(_ASKED)) if m.role == "user")
            named = language_of(next(asked, "")[:2000])
        return "zh" if named.lower().startswith("zh") else "en"

    # -- reading ---------------------------------------------------------------------------------------------

    def changes(
        self,
        *,
        turn: int | None = None,
        file: str | None = None,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        limit: int | None = None,
    ) -> list[CodeChange]:
        """Changes of the thread, the newest first: of one turn, of one file or folder, within a time."""
        return changing_reading.changes(
            self.thread, changing_reading.wish(turn, self.inside(file), since, until, limit)
        )

    def everywhere(self) -> list[Recorded]:
        """Every change of the folder in the store, in whichever thread, oldest first."""
        return changing_reading.everywhere(self.thread.engine, self.place, str(self.root), self.thread.id)

    def blame(self, path: str | os.PathLike[str], line: int | None = None) -> list[Blamed]:
        """Who wrote each line of a file (or one of them): the turn, what was asked there, and why."""
        from backscroll.engine.folder.blame import blame

        return blame(self, self.inside(path) or "", line)

    # -- going back ------------------------------------------------------------------------------------------

    def rewind(
        self, turn: int, what: What = "both", *, force: bool = False, dry_run: bool = False
    ) -> Rewound:
        """Back to before a turn: files as they were when it began, the conversation without it and what follows.

        Refuses to run over what others changed since, unless `force`; even then a snapshot keeps that. `dry_run` only says
        what would happen.
        """
        from backscroll.engine.folder.rewind import rewind

        return rewind(self, turn, what, force=force, dry_run=dry_run)

    def redo(self, *, force: bool = False, dry_run: bool = False) -> Rewound:
        """Take the last rewind back: its files and its words, as far as they are still gone."""
        from backscroll.engine.folder.rewind import redo

        return redo(self, force=force, dry_run=dry_run)

    def recover(self) -> Recovery | None:
        """Finish, or roll back, a rewind that a crash interrupted; None where there is none."""
        from backscroll.engine.folder.rewind_journal import interrupted, recover

        if not interrupted(self):
            return None
        with self.alone(recovering=True):
            return recover(self)

    # -- git, and letting go ---------------------------------------------------------------------------------

    def commit(
        self,
        message: str = "",
        *,
        turn: int | None = None,
        all: bool = False,
        hooks: bool = False,
        trust: bool = False,
        dry_run: bool = False,
    ) -> Committed:
        """Commit what the agent changed, and nothing else, to the user's git repository.

        With `all`, what people changed by hand in between too; with `turn`, only what was done in that turn. Filters and hooks that
        were set up in the repository since the folder was first looked at are run only with `trust`.
        """
        from backscroll.engine.folder.commits import commit

        return commit(self, message, turn=turn, everybody=all, hooks=hooks, trust=trust, dry_run=dry_run)

    def forget_file(
        self, path: str | os.PathLike[str], *, dry_run: bool = False
    ) -> changing_forgetting.ForgottenFile:
        """Erase all versions of a file for good: out of every snapshot, and the words of the changes that touched it.

        A file that is still there stays, and is not kept again until somebody changes it. `dry_run` only says what would go.
        """
        from backscroll.engine.folder.erasure import forget_file

        name = self.inside(checked_path(path)) or ""
        if name in ("", "."):
            raise InvalidInput(f"not a file of the folder: {os.fspath(path)!r}", hint="name one file")
        return forget_file(self, name, dry_run=dry_run)

    def forget_snapshots(self) -> None:
        """Drop every snapshot of the folder for good: rewind and blame begin anew. The log keeps what it says of changes."""
        with self.alone():
            self.keeper.forget()
            self.thread.store.write(lambda tx: keep_known(tx, self.place, "", 0.0))

    # -- the folder ------------------------------------------------------------------------------------------

    def inside(self, path: str | os.PathLike[str] | None) -> str | None:
        """A path of the folder as changes name it, however somebody wrote it."""
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
        """Hold the folder's lock; an unfinished rewind is seen to first."""
        with self._mine:
            if self._depth:  # this OS thread has it already
                yield
                return
            with held(self.home / "locks" / f"{self.place}.lock", _PATIENCE):
                self._depth = 1
                try:
                    if not recovering:
                        self._recover_first()
                    yield
                finally:
                    self._depth = 0

    def _recover_first(self) -> None:
        from backscroll.engine.folder.rewind_journal import interrupted, recover

        if interrupted(self):
            self.recovered = recover(self)


def default_home() -> Path:
    """Where snapshots are kept: beside the store that is used when nothing else is said."""
    return default_store().parent / "shadow"


def _folder(root: str | os.PathLike[str]) -> Path:
    path = Path(root).expanduser()
    if not path.is_dir():
        raise InvalidInput(f"not a folder: {root}", hint="name the folder that the agent works in")
    return path.resolve()


def _only_ignored(path: Path, file: FileChange, seen: float) -> bool:
    """True for a file that went out of sight or came into sight and is otherwise as it was when somebody last looked."""
    if file.action not in ("added", "deleted"):
        return False
    try:
        noted = path.lstat().st_ctime
    except OSError:
        return False
    return file.action == "deleted" or (seen > 0 and noted < seen - _SKEW)
