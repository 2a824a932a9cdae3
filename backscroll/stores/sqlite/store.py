"""The SQLite store: opening, migrating, group commit, scrubbing, backup. Implements `record.ports.Store`.

One connection writes. Callers queue their work; the thread that gets the lock runs everything that is waiting in one
transaction, so threads share one sync to disk, and a single thread has no handover cost. A write returns only once it is on
disk.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

from backscroll.errors import StoreBusy, StoreError
from backscroll.record.ports import Reader, ThreadState, Writer
from backscroll.stores.sqlite import fork_safety
from backscroll.stores.sqlite.database_file import WRITING, connect, prepare
from backscroll.stores.sqlite.faults import FAULTS, is_busy, translate_error
from backscroll.stores.sqlite.readers import ReaderPool
from backscroll.stores.sqlite.reading.rows import PendingWords, SqliteReader
from backscroll.stores.sqlite.reading.signs import VectorCaches
from backscroll.stores.sqlite.scrub import OUT_OF_REACH, read_note, rewrite
from backscroll.stores.sqlite.turns import WriteQueue
from backscroll.stores.sqlite.word_index import AT_ONCE
from backscroll.stores.sqlite.writing.rows import SqliteWriter

T = TypeVar("T")
_BATCH = 256
_IN_PASSING = 0.5  # seconds that opening waits for others before it leaves a rewrite to the next process


class _WriteJob(Generic[T]):
    """One caller's work in a shared transaction."""

    __slots__ = ("done", "error", "result", "work")

    def __init__(self, work: Callable[[Writer], T]) -> None:
        self.work = work
        self.done = False
        self.result: T | None = None
        self.error: Exception | None = None


class SqliteStore:
    """One file. Safe to share between OS threads; several processes may open the same file."""

    dialect = "fts5"

    def __init__(self, path: Path, *, patience: float = 60.0, compress_above: int = 4096) -> None:
        self.path = path
        self.location = str(path)
        self.patience = patience
        self.compress_above = compress_above
        first, self.read_only = prepare(path, patience)
        self._closed = False
        self.restart()
        self._readers.keep(first)
        fork_safety.watch(self)

    def _check(self) -> None:
        if self._closed:
            raise StoreError("the store is closed", hint="open it again with backscroll.open")

    # -- around a fork of the process ------------------------------------------------------------------------

    def restart(self) -> None:
        """Start without connections or cached facts: a new store, or its copy in a forked child."""
        self._lead = threading.Lock()
        self._leader: int | None = None
        if hasattr(self, "_turns"):
            self._turns.abandon()
        self._turns = WriteQueue(self.path)
        self._waiting: deque[_WriteJob[Any]] = deque()
        self._writer: sqlite3.Connection | None = None
        self._numbers: dict[str, int] = {}
        self._names: dict[int, str] = {}
        self._held: dict[
            str, ThreadState
        ] = {}  # rows as the last commit left them, while no other process wrote
        self._version = -1
        self._signs = VectorCaches()
        # A read-only file may be changed by others without our noticing: never reuse cached rows.
        kept = {"kept": 0} if self.read_only or self._closed else {}
        self._readers = ReaderPool(self._open, **kept)

    def _open(self) -> sqlite3.Connection:
        return connect(self.path, self.patience, self.read_only)

    def pause(self) -> None:
        """Wait for running work and close every connection."""
        if self._leader != threading.get_ident():  # else the fork is part of a write, which continues
            self._lead.acquire()
            self._let_go()
        self._readers.pause(self.patience)

    def resume(self) -> None:
        """Continue after `pause`."""
        self._readers.resume()
        if self._leader != threading.get_ident():
            self._lead.release()

    def _let_go(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None
            self._version = -1  # the next connection counts anew
        self._turns.close()

    # -- reading ---------------------------------------------------------------------------------------------

    def read(self, work: Callable[[Reader], T]) -> T:
        """Run `work` on one consistent snapshot of the file."""
        self._check()
        can_write = not self.read_only and self._leader != threading.get_ident()
        try:
            return self._read(work, complete=can_write)
        except PendingWords:
            self.index_rest()
            return self._read(work, complete=False)  # text that others leave waiting meanwhile is newer

    def _read(self, work: Callable[[Reader], T], *, complete: bool) -> T:
        try:
            with self._readers.lend_connection() as connection:
                connection.execute("BEGIN")
                names = (self._numbers, self._names, self._signs, self._open)
                try:
                    return work(SqliteReader(connection, *names, complete=complete))
                finally:
                    with suppress(sqlite3.Error):  # a reader has nothing to lose by rolling back
                        connection.execute("ROLLBACK")
        except FAULTS as error:
            raise translate_error(error, self.location) from error

    def index_rest(self) -> None:
        """Index waiting text in batches, so that other writers can run in between."""
        if self.read_only or not self._read(
            lambda reader: cast("SqliteReader", reader).words_wait(), complete=False
        ):
            return
        while self.write(lambda tx: cast("SqliteWriter", tx).index_waiting(AT_ONCE)) == AT_ONCE:
            pass

    # -- writing ---------------------------------------------------------------------------------------------

    def write(self, work: Callable[[Writer], T]) -> T:
        """Run `work` in a transaction that may be shared with other threads; durable on return."""
        self._check()
        if self.read_only:
            raise StoreError(
                f"the store is read-only: {self.location}",
                hint="check the permissions of the file and its folder",
            )
        if self._leader == threading.get_ident():
            raise RuntimeError("a write inside a write would wait for itself")
        job: _WriteJob[T] = _WriteJob(work)
        self._waiting.append(job)
        with self._lead:
            if not job.done:
                self._run_batch(job)
        if job.error is not None:
            raise job.error
        return job.result  # type: ignore[return-value]  # set whenever there is no error

    def _run_batch(self, mine: _WriteJob[Any]) -> None:
        jobs: list[_WriteJob[Any]] = []
        while self._waiting and len(jobs) < _BATCH:
            jobs.append(self._waiting.popleft())
        if mine not in jobs:
            self._waiting.remove(mine)
            jobs.append(mine)
        self._leader = threading.get_ident()
        try:
            self._commit(jobs)
        except FAULTS as error:
            fault = translate_error(error, self.location)
            for job in jobs:
                job.error = job.error or fault
        except StoreError as fault:
            for job in jobs:
                job.error = job.error or fault
        except BaseException:
            # The user pressed Ctrl-C in the leading thread: the others' work was rolled back, so it waits again.
            self._waiting.extendleft(job for job in reversed(jobs) if job is not mine)
            jobs = [mine]
            raise
        finally:
            self._leader = None
            for job in jobs:
                job.done = True

    def _commit(self, jobs: list[_WriteJob[Any]]) -> None:
        deadline = time.monotonic() + self.patience
        with self._turns.take_turn(deadline):
            self._commit_now(jobs, deadline)

    def _commit_now(self, jobs: list[_WriteJob[Any]], deadline: float) -> None:
        connection = self._begin(deadline)
        version = connection.execute("PRAGMA data_version").fetchone()[0]
        if version != self._version:  # another connection has written to the file
            self._held.clear()
            self._version = version
        names = (self._numbers, self._names, self._signs, self._open, self._held)
        writer = SqliteWriter(connection, *names, self.compress_above)
        kept = False
        try:
            for job in jobs:
                if len(jobs) == 1:
                    self._run(job, writer)
                    continue
                connection.execute("SAVEPOINT job")
                self._run(job, writer)
                if isinstance(job.error, StoreError) and not connection.in_transaction:
                    raise job.error  # on a full disk SQLite gives up the whole transaction: it holds no work
                if job.error is not None:
                    connection.execute("ROLLBACK TO job")
                connection.execute("RELEASE job")
            if len(jobs) > 1 or jobs[0].error is None:
                connection.execute("COMMIT")
                kept = True
        finally:
            if not kept:
                writer.take_back(0)
            if connection.in_transaction:
                connection.execute("ROLLBACK")

    def _run(self, job: _WriteJob[Any], writer: SqliteWriter) -> None:
        known = len(writer.added)
        try:
            job.result = job.work(writer)
        except FAULTS as error:
            job.error = translate_error(error, self.location)
        except Exception as error:  # noqa: BLE001 - it belongs to the caller whose work this is, and is raised there
            job.error = error
        if job.error is not None:
            writer.take_back(known)

    def _begin(self, deadline: float) -> sqlite3.Connection:
        self._check()  # while this one waited for its turn, another process may have closed the store
        if self._writer is None:
            self._writer = connect(self.path, self.patience, read_only=False, cache=WRITING)
        left = deadline - time.monotonic()
        if left < 0.9 * self.patience:  # the wait for our turn counts towards the timeout
            self._writer.execute(f"PRAGMA busy_timeout = {max(0, round(left * 1000))}")
        try:
            return self._begin_transaction(self._writer, deadline)
        finally:
            if left < 0.9 * self.patience:
                self._writer.execute(f"PRAGMA busy_timeout = {round(self.patience * 1000)}")

    def _begin_transaction(self, writer: sqlite3.Connection, deadline: float) -> sqlite3.Connection:
        while True:
            try:
                writer.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                if not is_busy(error):
                    raise
                if time.monotonic() > deadline:
                    raise StoreBusy(
                        f"other programs kept the store busy for {self.patience:g} s: {self.location}",
                        hint="nothing was written; try again, or see which program holds it",
                    ) from error
                time.sleep(0.005)
            else:
                return writer

    # -- the file as a whole ---------------------------------------------------------------------------------

    def _alone(self, work: Callable[[sqlite3.Connection], T]) -> T:
        self._check()
        with self._lead:
            if self._writer is None:
                self._writer = connect(self.path, self.patience, self.read_only, WRITING)
            try:
                return work(self._writer)
            except FAULTS as error:
                raise translate_error(error, self.location) from error

    def scrub(self) -> list[str]:
        """Merge the index, rewrite the file and empty the write-ahead log, so that no page keeps erased text."""

        self._readers.drop()
        self._signs.clear()
        return [OUT_OF_REACH, *self._alone(lambda connection: rewrite(connection, self.location))]

    def resume_scrub(self) -> bool:
        """Finish the scrub of an interrupted forget; False if others are in the way, or the file is read-only."""
        self._check()
        try:
            with self._readers.lend_connection() as connection:
                due = read_note(connection) is not None
            if not due or self.read_only:
                return not due
            self._readers.drop()
            with closing(connect(self.path, _IN_PASSING, read_only=False)) as connection:
                return not rewrite(connection, self.location)
        except FAULTS:
            return False  # it stays due; reading damaged rows raises an error

    def backup(self, target: str) -> None:
        """Make a consistent copy while others continue reading and writing."""
        self._check()
        try:
            with closing(sqlite3.connect(target)) as copy, self._readers.lend_connection() as connection:
                connection.backup(copy)
        except FAULTS as error:
            raise translate_error(error, f"{self.location}, or its copy {target}") from error

    def facts(self) -> Mapping[str, str]:
        """Return facts for `doctor`."""

        def work(connection: sqlite3.Connection) -> Mapping[str, str]:
            pragmas = ("journal_mode", "synchronous", "user_version", "page_count", "freelist_count")
            out = {name: str(connection.execute(f"PRAGMA {name}").fetchone()[0]) for name in pragmas}
            return {"engine": f"SQLite {sqlite3.sqlite_version}", "path": self.location, **out}

        return self._alone(work)

    def close(self) -> None:
        """Close every connection; later calls raise a clear error."""
        with self._lead:
            self._closed = True
            self._let_go()
            self._readers.close()
