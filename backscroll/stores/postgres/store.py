"""The PostgreSQL store: transactions with retries, and commits whose outcome is verified. Implements `record.ports.Store`.

A write ends in one of three ways: it is durable, it left nothing, or an error says that the outcome is unknown. Collisions
with other writers and connections that break before COMMIT leave nothing, so the work is retried until the timeout. If a
connection breaks *during* COMMIT, the outcome is open: before a retry, the store makes sure that the old session has ended,
and checks whether its last event is in the log.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import TypeVar

import psycopg

from backscroll.errors import StoreError
from backscroll.record.ports import Reader, Writer
from backscroll.stores.postgres.connection import Connection, address, prepare, reach
from backscroll.stores.postgres.faults import cut_off, is_collision, translate_error
from backscroll.stores.postgres.fence import wait_for_end
from backscroll.stores.postgres.names import Roots
from backscroll.stores.postgres.pool import let_go, shared_pool
from backscroll.stores.postgres.reading.derived import register_vectors
from backscroll.stores.postgres.reading.rows import PostgresReader
from backscroll.stores.postgres.session import BEGIN_READ, BEGIN_WRITE, PostgresSession
from backscroll.stores.postgres.writing.rows import FamilyBusy, PostgresWriter
from backscroll.stores.postgres.writing.upkeep import facts_of, finish_scrub, scrub_tables

T = TypeVar("T")


class _ConnectionLost(Exception):
    """The connection broke before COMMIT was sent: nothing is left of the transaction."""


class PostgresStore:
    """One tenant's rows in one database. Safe to share between OS threads, processes and hosts."""

    dialect = "tsquery"

    def __init__(
        self,
        url: str,
        *,
        tenant: str = "default",
        patience: float = 60.0,
        connections: int = 8,
        idle_seconds: float = 30.0,
        lock_seconds: float = 0.0,
        statement_seconds: float = 300.0,
        pooled: bool = False,
    ) -> None:
        self._address = address(
            url, tenant, patience, lock=lock_seconds, statement=statement_seconds, pooled=pooled
        )
        self.location = self._address.location
        self.tenant = tenant
        self.patience = patience
        self._roots = Roots()
        self._busy = threading.local()
        self._closed = False
        self._pool = shared_pool(self._address, connections, idle_seconds)
        try:
            with self._pool.lend_connection(time.monotonic() + patience, known=False) as connection:
                self._halfvec = prepare(connection, self._address)
        except BaseException:
            self.close()  # no other process would
            raise

    def _check(self) -> None:
        if self._closed:
            raise StoreError("the store is closed", hint="open it again with backscroll.open")

    @contextmanager
    def _lend_connection(self, deadline: float) -> Generator[Connection]:
        """Lend a connection from the pool shared by all stores of this process on this database."""
        with self._pool.lend_connection(deadline) as connection:
            yield register_vectors(connection, self._halfvec)

    # -- reading ---------------------------------------------------------------------------------------------

    def read(self, work: Callable[[Reader], T]) -> T:
        """Run `work` on one consistent snapshot. It is retried only if the server was gone before it answered.

        A nested read sees the same snapshot on the same connection, unless something was written in between.
        """
        self._check()
        outer = self._reading()
        if outer is not None:
            return work(PostgresReader(outer, self.tenant, self._roots, self._halfvec))
        deadline = time.monotonic() + self.patience
        while True:
            try:
                return self._read_once(work, deadline)
            except _ConnectionLost:
                self._pool.drop_idle()

    def _read_once(self, work: Callable[[Reader], T], deadline: float) -> T:
        with self._lend_connection(deadline) as connection:
            session = PostgresSession(connection, BEGIN_READ, self._address.limits)
            self._busy.reading = (os.getpid(), session)
            try:
                return work(PostgresReader(session, self.tenant, self._roots, self._halfvec))
            except psycopg.Error as error:
                if (
                    (cut_off(error) or connection.closed)
                    and not session.answered
                    and time.monotonic() < deadline
                ):
                    raise _ConnectionLost from error
                raise translate_error(error, self.location) from error
            finally:
                self._busy.reading = None

    def _reading(self) -> PostgresSession | None:
        """Return the session in which this OS thread is reading right now."""
        pid, session = getattr(self._busy, "reading", None) or (0, None)
        return session if pid == os.getpid() else None

    # -- writing ---------------------------------------------------------------------------------------------

    def write(self, work: Callable[[Writer], T]) -> T:
        """Run `work` in a transaction; durable on return."""
        self._check()
        if getattr(self._busy, "writing", 0) == os.getpid():
            raise RuntimeError("a write inside a write would wait for itself")
        self._busy.writing = os.getpid()
        self._busy.reading = None  # later reads see this write
        try:
            return self._write(work)
        finally:
            self._busy.writing = 0

    def _write(self, work: Callable[[Writer], T]) -> T:
        deadline = time.monotonic() + self.patience
        together: frozenset[str] = frozenset()
        tries = 0
        while True:
            tries += 1
            try:
                return self._write_once(work, together, deadline)
            except FamilyBusy as crowd:
                together |= {crowd.root}
            except _ConnectionLost as lost:
                self._pool.drop_idle()
                if time.monotonic() > deadline:
                    raise StoreError(
                        f"the connection to the server kept breaking: {self.location}",
                        hint="nothing was written; try again",
                    ) from lost
            except psycopg.Error as error:
                if not is_collision(error) or time.monotonic() > deadline:
                    raise translate_error(error, self.location) from error
                time.sleep(random.uniform(0, min(0.5, 0.005 * 2**tries)))

    def _write_once(self, work: Callable[[Writer], T], together: frozenset[str], deadline: float) -> T:
        results: list[T] = []  # set once the work is done and COMMIT may have been sent
        with self._lend_connection(deadline) as connection:
            session = PostgresSession(connection, BEGIN_WRITE, self._address.limits)
            writer = PostgresWriter(session, self.tenant, self._roots, self._halfvec, together)
            try:
                if self._address.pooled:
                    session.put_up_fence()
                results.append(work(writer))
                session.commit()
            except psycopg.Error as error:
                if not (cut_off(error) or connection.closed):
                    raise  # the server itself said no
                cause = error
                connection.close()
            else:
                self._learn(writer)
                return results[0]
        if self._has_arrived(writer, connection.fence, cause, deadline, asked=bool(results)):
            self._learn(writer)
            return results[0]
        raise _ConnectionLost from cause

    def _learn(self, writer: PostgresWriter) -> None:
        for thread, root in writer.learned.items():
            self._roots.learn(thread, root)

    def _has_arrived(
        self, writer: PostgresWriter, fence: int, cause: psycopg.Error, deadline: float, *, asked: bool
    ) -> bool:
        """Return True if a transaction whose connection broke was committed; its session has ended by then."""
        self._pool.drop_idle()
        in_question = asked and not writer.repeatable
        while time.monotonic() < deadline:
            try:
                with self._lend_connection(deadline) as connection:
                    if wait_for_end(connection, fence, deadline):
                        return in_question and writer.has_arrived(
                            PostgresSession(connection, BEGIN_READ, self._address.limits)
                        )
            except (psycopg.OperationalError, StoreError) as error:
                if isinstance(error, StoreError) and not in_question:
                    raise  # nothing was written; the error says why the server cannot be reached
                time.sleep(0.1)
        if not in_question:
            return False
        raise StoreError(
            f"the connection broke while a write was being committed: {self.location}",
            hint="it may or may not be in the store; look at the end of the thread before you do it again",
        ) from cause

    # -- the store as a whole --------------------------------------------------------------------------------

    def scrub(self) -> list[str]:
        """Rewrite the tables that text was erased from, so that no page keeps it. Return what it cannot reach."""
        self._check()
        connection = reach(self._address, time.monotonic() + self.patience, known=True)
        try:  # a separate connection: its settings must not leak into other transactions
            return scrub_tables(connection, self.patience, pooled=self._address.pooled)
        except psycopg.Error as error:
            raise translate_error(error, self.location) from error
        finally:
            connection.close()

    def index_rest(self) -> None:
        """Do nothing: messages are indexed when they are written."""

    def resume_scrub(self) -> bool:
        """Finish the scrub of an interrupted forget; False if others are in the way."""
        self._check()
        if not self.read(lambda reader: reader.scrub_due()):
            return True
        connection = reach(self._address, time.monotonic() + self.patience, known=True)
        try:
            return finish_scrub(connection, pooled=self._address.pooled)
        except psycopg.Error:
            return False  # a standby, or missing permission: it stays due
        finally:
            connection.close()

    def backup(self, target: str) -> None:
        """Raise: use the server's own tools for a consistent copy, or an export."""
        raise StoreError(
            f"a PostgreSQL store is not copied into a file: {target}",
            hint="use `backscroll export --format native`, or pg_dump on the server",
        )

    def facts(self) -> Mapping[str, str]:
        """Return facts for `doctor`."""
        vectors = (
            "compared by the server (pgvector)"
            if self._halfvec
            else "compared here: the server has no pgvector"
        )
        self._check()
        with self._lend_connection(time.monotonic() + self.patience) as connection:
            try:
                found = facts_of(connection)
            except psycopg.Error as error:
                raise translate_error(error, self.location) from error
        there, used, waiting = self._pool.counts()
        pool = f"{there} open, {used} in use, {waiting} waiting, at most {self._pool.size}"
        return {
            **found,
            "vectors": vectors,
            "connections": pool,
            "path": self.location,
            "tenant": self.tenant,
        }

    def close(self) -> None:
        """Close the connections; the last store on a database closes them. Later calls raise a clear error."""
        if not self._closed:
            self._closed = True
            let_go(self._address, self._pool)
