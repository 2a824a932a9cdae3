"""The workroom: a thread linked to the folder that its agent works in.

Owns scanning the folder: every difference between two scans is recorded once, with its cause, in whichever thread sees it
first. This is the object that callers hold; `blame`, `rewind` and `commit` are modules of their own. File contents are kept
by `workspace`.
"""

from __future__ import annotations

import os
from datetime import datetime
from typing import TYPE_CHECKING

from backscroll.engine.core.checks import checked_path
from backscroll.engine.core.signatures import doors
from backscroll.engine.folder import change_query as changing_reading
from backscroll.engine.folder.change_log import (
    keep_known,
)
from backscroll.engine.folder.folder_scope import FolderScope, What
from backscroll.engine.folder.rewind_journal import is_interrupted, recover
from backscroll.errors import InvalidInput
from backscroll.vocab.change import CodeChange
from backscroll.workspace.snapshots.snapshots import Snapshots

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import ThreadScope
    from backscroll.engine.folder import erasure as changing_forgetting
    from backscroll.engine.folder.blame import BlameLine
    from backscroll.engine.folder.commits import CommitReport
    from backscroll.engine.folder.rewind import RewindReport
    from backscroll.engine.folder.rewind_journal import RewindRecovery

__all__ = ["What", "Workroom"]


@doors
class Workroom(FolderScope):
    """One thread and its folder. Opening it completes a rewind that a crash interrupted."""

    def __init__(
        self,
        thread: ThreadScope,
        root: str | os.PathLike[str],
        *,
        keeper: Snapshots | None = None,
        home: str | os.PathLike[str] | None = None,
    ) -> None:
        super().__init__(thread, root, keeper=keeper, home=home)
        self.recovered: RewindRecovery | None = self.recover()

    def __repr__(self) -> str:
        return f"<Workroom {self.thread.id[:8]} {str(self.root)!r}>"

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
        """Return the thread's changes, newest first; filter by turn, by file or folder, and by time."""
        return changing_reading.changes(
            self.thread, changing_reading.wish(turn, self.inside(file), since, until, limit)
        )

    def blame(self, path: str | os.PathLike[str], line: int | None = None) -> list[BlameLine]:
        """Return, for each line of a file (or one line), the turn that wrote it, the request it answers, and the reason."""
        from backscroll.engine.folder.blame import blame  # start-up: an agent starts without it

        return blame(self, self.inside(path) or "", line)

    # -- rewind ----------------------------------------------------------------------------------------------

    def rewind(
        self, turn: int, what: What = "both", *, force: bool = False, dry_run: bool = False
    ) -> RewindReport:
        """Restore files and conversation to before a turn: the files as they were then, the turn and all later ones deleted.

        Refuses to overwrite changes that others made since, unless `force`; even then a snapshot keeps them. `dry_run` only
        reports what would change.
        """
        from backscroll.engine.folder.rewind import rewind  # start-up: an agent starts without it

        return rewind(self, turn, what, force=force, dry_run=dry_run)

    def redo(self, *, force: bool = False, dry_run: bool = False) -> RewindReport:
        """Revert the last rewind: restore its files and messages, as far as they are still gone."""
        from backscroll.engine.folder.rewind import redo  # start-up: an agent starts without it

        return redo(self, force=force, dry_run=dry_run)

    def recover(self) -> RewindRecovery | None:
        """Complete or roll back a rewind that a crash interrupted; None if there is none."""
        if not is_interrupted(self):
            return None
        with self.alone(recovering=True):
            return recover(self)

    # -- git, and erasing ------------------------------------------------------------------------------------

    def commit(
        self,
        message: str = "",
        *,
        turn: int | None = None,
        all: bool = False,
        hooks: bool = False,
        trust: bool = False,
        dry_run: bool = False,
    ) -> CommitReport:
        """Commit what the agent changed, and nothing else, to the user's git repository.

        With `all`, include manual edits made in between; with `turn`, only the changes of that turn. Filters and hooks that
        were configured in the repository after the first scan of the folder run only with `trust`.
        """
        from backscroll.engine.folder.commits import commit  # start-up: an agent starts without it

        return commit(self, message, turn=turn, everybody=all, hooks=hooks, trust=trust, dry_run=dry_run)

    def forget_file(
        self, path: str | os.PathLike[str], *, dry_run: bool = False
    ) -> changing_forgetting.FileForgetReport:
        """Erase all versions of a file permanently: from every snapshot, with the text of the changes that touched it.

        The file in the folder itself is kept, but not recorded again until the user changes it. `dry_run` only reports what
        would be erased.
        """
        from backscroll.engine.folder.erasure import forget_file  # start-up: an agent starts without it

        name = self.inside(checked_path(path)) or ""
        if name in ("", "."):
            raise InvalidInput(f"not a file of the folder: {os.fspath(path)!r}", hint="name one file")
        return forget_file(self, name, dry_run=dry_run)

    def forget_snapshots(self) -> None:
        """Erase every snapshot of the folder permanently: rewind and blame start over. The log keeps its record of changes."""
        with self.alone():
            self.keeper.forget()
            self.thread.store.write(lambda tx: keep_known(tx, self.place, "", 0.0))

    def finish_interrupted(self) -> None:
        """Complete or roll back a rewind that a crash interrupted; the caller holds the lock."""
        if is_interrupted(self):
            self.recovered = recover(self)
