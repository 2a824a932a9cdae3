"""The SQLite file: opening, migrating, group commit, scrubbing, backup. Implements `record.ports.Store`.

One connection writes. Callers queue their work; whoever gets the lock runs everything that is waiting in one transaction,
so threads share one sync to disk, and a single thread pays for no hand-over. A write returns only once it is on disk.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Generic, TypeVar

from backscroll.errors import StoreBusy, StoreError
from backscroll.record.ports import Reader, Writer
from backscroll.stores.sqlite.faults import translated
from backscroll.stores.sqlite.opening import connect, prepare
from backscroll.stores.sqlite.rows import SqliteReader
from backscroll.stores.sqlite.write import SqliteWriter

T = TypeVar("T")
_BATCH = 256
_IDLE_READERS = 8


class _Job(Generic[T]):
    """One caller's work on its way through a shared transaction."""

    __slots__ = ("done", "error", "result", "work")

    def __init__(self, work: Callable[[Writer], T]) -> None:
        self.work = work
        self.done = False
        self.result: T | None = None
        self.error: Exception | None = None


class SqliteStore:
    """One file. Safe to share between OS threads; several processes may open the same file."""

    dialect = "fts5"

    def __init__(self, path: Path, *, patience: float = 60.0) -> None:
        self.path = path
        self.location = str(path)
        self.patience = patience
        first, self.read_only = prepare(path, patience)
        self._start()
        self._idle.append(first)

    def _start(self) -> None:
        self._pid = os.getpid()
        self._lead = threading.Lock()
        self._leader: int | None = None
        self._waiting: deque[_Job[Any]] = deque()
        self._writer: sqlite3.Connection | None = None
        self._idle: list[sqlite3.Connection] = []
        self._numbers: dict[str, int] = {}
        self._names: dict[int, str] = {}
        self._closed = False

    def _check(self) -> None:
        if self._pid != os.getpid():
            self._start()  # a forked child must not touch its parent's connections
        if self._closed:
            raise StoreError("the store is closed", hint="open it again with backscroll.open")

    # -- reading ---------------------------------------------------------------------------------------------

    def read(self, work: Callable[[Reader], T]) -> T:
        """Run `work` on one consistent moment of the file."""
        self._check()
        try:
            connection = self._idle.pop() if self._idle else connect(self.path, self.patience, self.read_only)
            connection.execute("BEGIN")
        except sqlite3.Error as error:
            raise translated(error, self.location) from error
        try:
            return work(SqliteReader(connection, self._numbers, self._names))
        except sqlite3.Error as error:
            raise translated(error, self.location) from error
        finally:
            with suppress(
                sqlite3.Error
            ):  # the result is in hand; a reader has nothing to lose by rolling back
                connection.execute("ROLLBACK")
            if len(self._idle) < _IDLE_READERS and not self._closed:
                self._idle.append(connection)
            else:
                connection.close()

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
        job: _Job[T] = _Job(work)
        self._waiting.append(job)
        with self._lead:
            if not job.done:
                self._run_batch(job)
        if job.error is not None:
            raise job.error
        return job.result  # type: ignore[return-value]  # set whenever there is no error

    def _run_batch(self, mine: _Job[Any]) -> None:
        jobs: list[_Job[Any]] = []
        while self._waiting and len(jobs) < _BATCH:
            jobs.append(self._waiting.popleft())
        if mine not in jobs:
            self._waiting.remove(mine)
            jobs.append(mine)
        self._leader = threading.get_ident()
        try:
            self._commit(jobs)
        except sqlite3.Error as error:
            fault = translated(error, self.location)
            for job in jobs:
                job.error = job.error or fault
        except StoreError as fault:
            for job in jobs:
                job.error = job.error or fault
        except BaseException:
            # Somebody pressed Ctrl-C in the leading thread: the others' work was rolled back, so it waits again.
            self._waiting.extendleft(job for job in reversed(jobs) if job is not mine)
            jobs = [mine]
            raise
        finally:
            self._leader = None
            for job in jobs:
                job.done = True

    def _commit(self, jobs: list[_Job[Any]]) -> None:
        connection = self._begin()
        writer = SqliteWriter(connection, self._numbers, self._names)
        try:
            for job in jobs:
                if len(jobs) == 1:
                    self._run(job, writer)
                    continue
                connection.execute("SAVEPOINT job")
                self._run(job, writer)
                if job.error is not None:
                    connection.execute("ROLLBACK TO job")
                connection.execute("RELEASE job")
            if len(jobs) > 1 or jobs[0].error is None:
                connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                writer.unlearn(0)
                connection.execute("ROLLBACK")

    def _run(self, job: _Job[Any], writer: SqliteWriter) -> None:
        known = len(writer.added)
        try:
            job.result = job.work(writer)
        except sqlite3.Error as error:
            job.error = translated(error, self.location)
        except Exception as error:  # noqa: BLE001 - it belongs to the caller whose work this is, and is raised there
            job.error = error
        if job.error is not None:
            writer.unlearn(known)

    def _begin(self) -> sqlite3.Connection:
        if self._writer is None:
            self._writer = connect(self.path, self.patience, read_only=False)
        deadline = time.monotonic() + self.patience
        while True:
            try:
                self._writer.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                    raise
                if time.monotonic() > deadline:
                    raise StoreBusy(
                        f"other programs kept the store busy for {self.patience:g} s: {self.location}",
                        hint="nothing was written; try again, or see which program holds it",
                    ) from error
                time.sleep(0.005)
            else:
                return self._writer

    # -- the file as a whole ---------------------------------------------------------------------------------

    def _alone(self, work: Callable[[sqlite3.Connection], T]) -> T:
        self._check()
        with self._lead:
            if self._writer is None:
                self._writer = connect(self.path, self.patience, self.read_only)
            try:
                return work(self._writer)
            except sqlite3.Error as error:
                raise translated(error, self.location) from error

    def scrub(self) -> list[str]:
        """Merge the index, rewrite the file and empty the write-ahead log, so that no page keeps erased words."""

        def work(connection: sqlite3.Connection) -> list[str]:
            left = ["copies of the store: backups, exports, snapshots of the disk"]
            try:
                connection.execute("INSERT INTO words (words) VALUES ('optimize')")
                connection.execute("VACUUM")
                busy = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                    raise
                busy = 1
            if busy:
                left.append(
                    "freed pages of the file, while another program uses it: forget anything again later"
                )
            return left

        while self._idle:
            self._idle.pop().close()
        return self._alone(work)

    def backup(self, target: str) -> None:
        """A consistent copy, made while others go on working."""

        def work(connection: sqlite3.Connection) -> None:
            copy = sqlite3.connect(target)
            try:
                connection.backup(copy, pages=4096)
            finally:
                copy.close()

        self._alone(work)

    def facts(self) -> Mapping[str, str]:
        """For `doctor`."""

        def work(connection: sqlite3.Connection) -> Mapping[str, str]:
            pragmas = ("journal_mode", "synchronous", "user_version", "page_count", "freelist_count")
            out = {name: str(connection.execute(f"PRAGMA {name}").fetchone()[0]) for name in pragmas}
            return {"engine": f"SQLite {sqlite3.sqlite_version}", "path": self.location, **out}

        return self._alone(work)

    def close(self) -> None:
        """Close every connection; later calls raise a clear error."""
        if self._pid != os.getpid() or self._closed:
            return
        with self._lead:
            self._closed = True
            for connection in (*self._idle, *([self._writer] if self._writer else [])):
                connection.close()
            self._idle.clear()
            self._writer = None
