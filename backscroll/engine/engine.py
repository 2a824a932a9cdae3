"""The engine: one open store and everything it contains. Safe to share between OS threads; `engine/opening` returns one per store and process."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING

from backscroll.config import Settings
from backscroll.deprecation import rename_arguments
from backscroll.engine.core.audience import ScopeThreads
from backscroll.engine.core.checks import checked_path
from backscroll.engine.core.clock import ClockAndIds
from backscroll.engine.core.signatures import doors
from backscroll.engine.directory import ThreadDirectory
from backscroll.engine.log import erasure as forgetting
from backscroll.engine.log.scrub import forget_acts, scrub
from backscroll.engine.thread import Thread
from backscroll.errors import InvalidInput, NotFound
from backscroll.record.ports import Store
from backscroll.vocab.ids import THREAD_ID, Ref

if TYPE_CHECKING:
    from datetime import datetime

    from backscroll.engine.background.worker import Worker
    from backscroll.engine.doctor import DoctorCheck
    from backscroll.engine.exchange.discovery import HistoryFile
    from backscroll.engine.exchange.exports import ExportReport
    from backscroll.engine.exchange.imports import ImportReport, Progress
    from backscroll.engine.exchange.repair import RepairReport
    from backscroll.engine.knowledge.people.graph import ScopeGraph
    from backscroll.engine.log.verification import VerificationReport
    from backscroll.engine.search.words import SearchResult
    from backscroll.engine.user import User


@doors
class Engine(ThreadDirectory):
    """An open store: create, find, search, import, export, verify and erase threads."""

    def __init__(self, store: Store, settings: Settings, means: ClockAndIds | None = None) -> None:
        super().__init__(store, settings, means)
        self._worker: Worker | None = None
        self._lock = threading.Lock()

    def _open(self, thread: str, actor: str | None) -> Thread:
        return Thread(self, thread, actor)

    # -- lifecycle -------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Release the store; the last engine to release it closes it."""
        answers = [work() for work in self._closing]
        if all(answers):
            if self._worker is not None:
                self._worker.stop()
            self.store.close()

    def worker(self) -> Worker:
        """Return the background worker, and start it if the settings enable it."""
        with self._lock:
            if self._worker is None:
                from backscroll.engine.background.worker import Worker  # start-up: a store opens without it

                self._worker = Worker(self)
                if self.settings.background:
                    self.on_change(self._worker.tell)
                    self._worker.start()
            return self._worker

    @property
    def at_work(self) -> Worker | None:
        """The running background worker; None if none was started. Does not start one."""
        worker = self._worker
        return worker if worker is not None and worker.working else None

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- users and projects ----------------------------------------------------------------------------------

    def user(self, name: str) -> User:
        """Return the user with this name: what is known about them across all their threads."""
        from backscroll.engine.user import User  # start-up: a store opens without it

        return User(self, name)

    def users(self) -> list[str]:
        """Return the names of all users that own a thread, sorted."""
        return sorted({info.user for info in self.threads() if info.user})

    def graph(self, *, project: str | None = None, user: str | None = None) -> ScopeGraph:
        """Return the knowledge graph over all threads of a project or of a user."""
        # start-up: a store opens without it
        from backscroll.engine.knowledge.people.graph import ScopeGraph

        if (project is None) == (user is None):
            raise InvalidInput("name a project or a user", hint='one of the two: store.graph(user="ann")')
        return ScopeGraph(
            self, ScopeThreads.of_user(user) if user is not None else ScopeThreads.of_project(project or "")
        )

    # -- erasing ---------------------------------------------------------------------------------------------

    def forget(
        self,
        thread: str,
        messages: Sequence[Ref],
        *,
        actor: str,
        keep_shared: bool = False,
        dry_run: bool = False,
    ) -> forgetting.ForgetReport:
        """Erase messages permanently, then rewrite the store's file so that no page still contains them."""
        if not messages:
            raise InvalidInput(
                "no message to forget", hint="name at least one; `forget_thread` erases a whole thread"
            )
        return self._forget(thread, messages, actor, keep_shared=keep_shared, dry_run=dry_run)

    def forget_thread(
        self, thread: str, *, actor: str, keep_shared: bool = False, dry_run: bool = False
    ) -> forgetting.ForgetReport:
        """Erase a whole thread permanently, and rewrite the store's file."""
        return self._forget(thread, None, actor, keep_shared=keep_shared, dry_run=dry_run)

    def _forget(
        self, thread: str, messages: Sequence[Ref] | None, actor: str, *, keep_shared: bool, dry_run: bool
    ) -> forgetting.ForgetReport:
        from backscroll.engine.folder.erasure import snapshots_left  # start-up: a store opens without it

        if not THREAD_ID.fullmatch(thread):
            raise NotFound(f"thread {thread} not found", hint="run `backscroll threads` to list threads")
        kept = self.store.read(lambda reader: snapshots_left(reader, thread, messages))
        done = forgetting.erase_in(
            self.store, self.means, thread, messages, actor, keep_shared=keep_shared, dry_run=dry_run
        )
        if dry_run:
            return replace(done, unreachable=kept)
        return replace(done, unreachable=(*scrub(self, [thread, *done.threads], actor), *kept))

    def forget_acts(self, thread: str, seqs: Sequence[int], *, actor: str) -> forgetting.ForgetReport:
        """Erase the texts of events that are not messages (overrides, memories, task steps), by event number."""
        return forget_acts(self, thread, seqs, actor)

    # -- finding ---------------------------------------------------------------------------------------------

    @rename_arguments(text="query")
    def search(
        self,
        query: str,
        *,
        thread: str | None = None,
        project: str | None = None,
        user: str | None = None,
        kind: str | None = None,
        roles: Sequence[str] = (),
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        tool: str | None = None,
        limit: int = 20,
    ) -> SearchResult:
        """Return the messages that contain all the words (`"a phrase"`, `-not`, `OR`, `begin*`), best match first."""
        from backscroll.engine.search.words import search  # start-up: a store opens without it

        return search(
            self,
            query,
            thread=thread,
            project=project,
            user=user,
            kind=kind,
            roles=roles,
            since=since,
            until=until,
            tool=tool,
            limit=limit,
        )

    # -- import and export -----------------------------------------------------------------------------------

    def import_path(
        self,
        path: str | os.PathLike[str],
        *,
        format: str | None = None,
        dry_run: bool = False,
        progress: Progress | None = None,
        again: bool = False,
        project: str | None = None,
    ) -> list[ImportReport]:
        """Import a file or folder of another tool, or a native file; importing it again adds only what is new."""
        from backscroll.engine.exchange.imports import import_path  # start-up: a store opens without it

        return import_path(
            self,
            os.fspath(path),
            format=format,
            dry_run=dry_run,
            progress=progress,
            again=again,
            project=project,
        )

    def discover(self) -> list[HistoryFile]:
        """Find conversation histories of other tools on this computer."""
        from backscroll.engine.exchange.discovery import discover  # start-up: a store opens without it

        return discover()

    def watch(
        self,
        paths: Sequence[str],
        on_report: Callable[[ImportReport], None],
        stop: threading.Event,
        *,
        discovered: bool = False,
        every: float = 1.0,
    ) -> None:
        """Import from files as they grow, until `stop` is set."""
        from backscroll.engine.exchange.discovery import watch  # start-up: a store opens without it

        watch(self, paths, on_report, stop, discovered=discovered, every=every)

    def export(
        self,
        threads: Sequence[str] | None,
        format: str = "native",
        target: str | None = None,
    ) -> ExportReport:
        """Export threads (None: all) in a format: to a file, to a folder, or as text."""
        from backscroll.engine.exchange.exports import export  # start-up: a store opens without it

        return export(self, threads, format, target)

    def formats(self) -> list[tuple[str, str, bool, bool]]:
        """List the formats: name, label, whether it can be read, whether it can be written."""
        from backscroll.formats.detection import formats  # start-up: a store opens without it

        return [
            (f.name, f.label, f.name != "markdown", f.write is not None or f.name == "native")
            for f in formats()
        ]

    # -- maintenance -----------------------------------------------------------------------------------------

    def verify(
        self, thread: str | None = None, progress: Callable[[int, int], None] | None = None
    ) -> VerificationReport:
        """Rehash and rebuild everything (or one thread) from the log, and report every mismatch."""
        from backscroll.engine.log.verification import verify_store  # start-up: a store opens without it

        wanted = None if thread is None else self.resolve(thread)
        return self.store.read(lambda reader: verify_store(reader, wanted, progress))

    def repair(self) -> list[RepairReport]:
        """Set aside what does not verify and rebuild the rest from the log; return what was done."""
        from backscroll.engine.exchange.repair import repair_store  # start-up: a store opens without it

        return repair_store(self)

    def save_aside(self, target: str | os.PathLike[str]) -> int:
        """Write the rows that repairs set aside to a file; return how many there are."""
        from backscroll.engine.exchange.repair import save_aside  # start-up: a store opens without it

        return save_aside(self, os.fspath(target))

    def doctor(self) -> list[DoctorCheck]:
        """Diagnose the installation: return one check per component."""
        from backscroll.engine.doctor import doctor  # start-up: a store opens without it

        return doctor(self)

    def backup(self, target: str | os.PathLike[str]) -> None:
        """Write a consistent copy of the store while other programs keep using it."""
        from backscroll.engine.log.backups import backup  # start-up: a store opens without it

        backup(self.store, checked_path(target))

    def put_blob(self, data: bytes) -> str:
        """Store bytes once; return their hash."""
        name = hashlib.sha256(data).hexdigest()
        self.store.write(lambda tx: tx.put_blob(name, data))
        return name
