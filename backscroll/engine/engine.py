"""The engine: everything in one store. Safe to share between OS threads; `engine/opening` gives one per store and process."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING

from backscroll.config import Settings
from backscroll.engine.core.doors import doors
from backscroll.engine.core.means import Means
from backscroll.engine.core.memo import Memo
from backscroll.engine.core.pacing import Callers
from backscroll.engine.core.pen import checked_actor
from backscroll.engine.log import erasure as forgetting
from backscroll.engine.log.directory import Directory
from backscroll.engine.log.scrubbing import scrub
from backscroll.engine.thread import Thread
from backscroll.errors import InvalidInput, NotFound
from backscroll.record.ports import Store
from backscroll.vocab.ids import THREAD_ID, Ref

if TYPE_CHECKING:
    from datetime import datetime

    from backscroll.engine.exchange.discovery import Discovered
    from backscroll.engine.exchange.exports import ExportReport
    from backscroll.engine.exchange.imports import ImportReport, Progress
    from backscroll.engine.log.doctor import Check
    from backscroll.engine.log.repair import Mended
    from backscroll.engine.log.verification import Verdict
    from backscroll.engine.models.background import Worker
    from backscroll.engine.search.words import Found


@doors
class Engine(Directory):
    """Everything in one store."""

    def __init__(self, store: Store, settings: Settings, means: Means | None = None) -> None:
        self.store = store
        self.settings = settings
        self.means = means or Means()
        self._closing: list[Callable[[], bool]] = []
        self._watchers: list[Callable[[Thread], None]] = []
        self.rewriters: list[
            Callable[[], None]
        ] = []  # who keeps words in files; run to finish a cut-off forget
        self._worker: Worker | None = None
        self._lock = threading.Lock()
        self.memo = Memo()
        self.callers = Callers()
        checked_actor(settings.actor)

    # -- life ------------------------------------------------------------------------------------------------

    def on_close(self, work: Callable[[], bool]) -> None:
        """Ask somebody when the engine is to be closed; False keeps the store open for other users."""
        self._closing.append(work)

    def on_change(self, work: Callable[[Thread], None]) -> None:
        """Run something after every write to a thread through this engine."""
        self._watchers.append(work)

    def changed(self, thread: Thread) -> None:
        """Tell whoever wants to know that a thread was written to."""
        for work in self._watchers:
            work(thread)

    def close(self) -> None:
        """Let go of the store; the last one to do so closes it."""
        answers = [work() for work in self._closing]
        if all(answers):
            if self._worker is not None:
                self._worker.stop()
            self.store.close()

    def worker(self) -> Worker:
        """Who derives ahead of time for this engine; begins to work where the settings say so."""
        with self._lock:
            if self._worker is None:
                from backscroll.engine.models.background import Worker

                self._worker = Worker(self)
                if self.settings.background:
                    self.on_change(self._worker.tell)
                    self._worker.start()
            return self._worker

    @property
    def at_work(self) -> Worker | None:
        """The worker that lives now; None where none was started. Asking starts none."""
        worker = self._worker
        return worker if worker is not None and worker.working else None

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- erasing ---------------------------------------------------------------------------------------------

    def forget(
        self,
        thread: str,
        messages: Sequence[Ref],
        *,
        actor: str,
        keep_shared: bool = False,
        dry_run: bool = False,
    ) -> forgetting.Erasure:
        """Erase messages for good; then rewrite the file so that no page keeps them."""
        if not messages:
            raise InvalidInput(
                "no message to forget", hint="name at least one; `forget_thread` erases a whole thread"
            )
        return self._forget(thread, messages, actor, keep_shared=keep_shared, dry_run=dry_run)

    def forget_thread(
        self, thread: str, *, actor: str, keep_shared: bool = False, dry_run: bool = False
    ) -> forgetting.Erasure:
        """Erase a whole thread for good, in the same way."""
        return self._forget(thread, None, actor, keep_shared=keep_shared, dry_run=dry_run)

    def _forget(
        self, thread: str, messages: Sequence[Ref] | None, actor: str, *, keep_shared: bool, dry_run: bool
    ) -> forgetting.Erasure:
        from backscroll.engine.folder.erasure import snapshots_left

        if not THREAD_ID.fullmatch(thread):
            raise NotFound(f"no thread {thread}", hint="`backscroll threads` lists what is in the store")
        kept = self.store.read(lambda reader: snapshots_left(reader, thread, messages))
        done = forgetting.erase_in(
            self.store, self.means, thread, messages, actor, keep_shared=keep_shared, dry_run=dry_run
        )
        if dry_run:
            return replace(done, unreachable=kept)
        done = self._scrubbed(thread, actor, done)
        return replace(done, unreachable=(*done.unreachable, *kept))

    def forget_acts(self, thread: str, seqs: Sequence[int], *, actor: str) -> forgetting.Erasure:
        """Erase the words of what was done beside the conversation, by the numbers of its events."""
        thread = self.resolve(thread)
        done = self.store.write(lambda tx: forgetting.forget_acts(tx, self.means, thread, seqs, actor))
        return self._scrubbed(thread, actor, done)

    def _scrubbed(self, thread: str, actor: str, done: forgetting.Erasure) -> forgetting.Erasure:
        return replace(done, unreachable=tuple(scrub(self, [thread, *done.threads], actor)))

    # -- finding ---------------------------------------------------------------------------------------------

    def search(
        self,
        text: str,
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
    ) -> Found:
        """Messages that hold all the words (`"a phrase"`, `-not`, `OR`, `begin*`), best first."""
        from backscroll.engine.search.words import search

        return search(
            self,
            text,
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

    # -- in and out ------------------------------------------------------------------------------------------

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
        """Bring in a file or folder of another tool, or a native file; a second import brings in what is new."""
        from backscroll.engine.exchange.imports import import_path

        return import_path(
            self,
            os.fspath(path),
            format=format,
            dry_run=dry_run,
            progress=progress,
            again=again,
            project=project,
        )

    def discover(self) -> list[Discovered]:
        """Histories of other tools on this computer."""
        from backscroll.engine.exchange.discovery import discover

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
        """Follow files as they grow, until `stop` is set."""
        from backscroll.engine.exchange.discovery import watch

        watch(self, paths, on_report, stop, discovered=discovered, every=every)

    def export(
        self,
        threads: Sequence[str] | None,
        format: str = "native",
        target: str | None = None,
    ) -> ExportReport:
        """Write threads (None: all) in another shape: to a file, to a folder, or as text."""
        from backscroll.engine.exchange.exports import export

        return export(self, threads, format, target)

    def formats(self) -> list[tuple[str, str, bool, bool]]:
        """Name, label, whether it can be read, whether it can be written."""
        from backscroll.formats.detect import formats

        return [
            (f.name, f.label, f.name != "markdown", f.write is not None or f.name == "native")
            for f in formats()
        ]

    # -- care ------------------------------------------------------------------------------------------------

    def verify(
        self, thread: str | None = None, progress: Callable[[int, int], None] | None = None
    ) -> Verdict:
        """Re-hash and re-project everything (or one thread) and say exactly what is wrong."""
        from backscroll.engine.log.verification import verify_store

        wanted = None if thread is None else self.resolve(thread)
        return self.store.read(lambda reader: verify_store(reader, wanted, progress))

    def repair(self) -> list[Mended]:
        """Set aside what does not verify and build the rest anew from the log; says what was done."""
        from backscroll.engine.log.repair import repair_store

        return repair_store(self)

    def save_aside(self, target: str | os.PathLike[str]) -> int:
        """Write what repairs have set aside into a file; gives how many rows."""
        from backscroll.engine.log.repair import save_aside

        return save_aside(self, os.fspath(target))

    def stats(self) -> dict[str, int]:
        """How much of what there is."""
        return dict(self.store.read(lambda reader: reader.stats()))

    def doctor(self) -> list[Check]:
        """What works here."""
        from backscroll.engine.log.doctor import doctor

        return doctor(self)

    def backup(self, target: str | os.PathLike[str]) -> None:
        """A consistent copy of the store, made while others go on working."""
        from backscroll.engine.core.checks import checked_path
        from backscroll.engine.log.backups import backup

        backup(self.store, checked_path(target))

    # -- slots for what is counted once ----------------------------------------------------------------------

    def tokens(self, revisions: Sequence[Ref], tokenizer: str) -> dict[Ref, int]:
        """Token counts that were stored for revisions; what was never counted is missing."""
        return self.store.read(lambda reader: reader.tokens(revisions, tokenizer))

    def set_tokens(self, counts: Mapping[Ref, int], tokenizer: str) -> None:
        """Store token counts; they belong to a revision for good, and go when it is forgotten."""
        rows = [(revision, tokenizer, count) for revision, count in counts.items()]
        self.store.write(lambda tx: tx.set_tokens(rows))

    # -- bytes -----------------------------------------------------------------------------------------------

    def blob(self, digest: str) -> bytes | None:
        """Stored bytes by their hash; None once forgotten."""
        return self.store.read(lambda reader: reader.blob(digest))

    def put_blob(self, data: bytes) -> str:
        """Store bytes once; gives their hash."""
        name = hashlib.sha256(data).hexdigest()
        self.store.write(lambda tx: tx.put_blob(name, data))
        return name
