"""One transaction on one connection, in as few round trips as it takes.

Statements without results (BEGIN, inserts, updates) are held back and sent with the next query or with COMMIT, in one
pipeline: appending a message takes two round trips, not seven. The store decides about retries.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import psycopg

from backscroll.stores.postgres.connection import Connection, ServerTimeouts, settings_for

BEGIN_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
BEGIN_WRITE = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
_HELD = 512  # maximum of statements held back; a long import must not accumulate in memory


class PostgresSession:
    """A transaction that begins with the first statement."""

    def __init__(self, connection: Connection, begin: str, limits: ServerTimeouts) -> None:
        self.connection = connection
        self.answered = False  # something was read: the caller may have acted on it
        self._held: list[tuple[str, Sequence[Any]]] = [(begin, ()), *settings_for(connection, limits)]
        self._began = False
        self._silent = len(self._held)
        self._cursor = connection.cursor(binary=True)

    def put_up_fence(self) -> None:
        """Make this transaction recognisable (`fence`) behind a pooler, where a session is ours only for its duration.

        Waits for the answer, so that nothing can be on its way to the server that the fence does not surround.
        """
        self._held.append(("SELECT pg_advisory_xact_lock(%s)", (self.connection.fence,)))
        self.flush()

    def tell(self, sql: str, *values: Any) -> None:
        """Queue a statement without a result; it is sent with the next query."""
        self._held.append((sql, values))
        if len(self._held) >= _HELD:
            self.flush()

    def ask(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """Run a query and return all rows."""
        cursor = self._cursor
        if self._held:
            with self._pipeline():
                self._send_held()
                cursor.execute(sql.encode(), values)
        else:
            cursor.execute(sql.encode(), values)
        rows = cursor.fetchall()
        self.answered = True
        return rows

    def ask_one(self, sql: str, *values: Any) -> tuple[Any, ...] | None:
        """Run a query and return the first row."""
        rows = self.ask(sql, *values)
        return rows[0] if rows else None

    def do(self, sql: str, *values: Any) -> int:
        """Run a statement at once; return how many rows it touched."""
        cursor = self.connection.cursor()
        with self._pipeline():
            self._send_held()
            cursor.execute(sql.encode(), values)
        return cursor.rowcount

    def flush(self) -> None:
        """Send what is held back and wait until it is done."""
        if self._held:
            with self._pipeline():
                self._send_held()

    def commit(self) -> None:
        """Commit: everything is durable, or an error is raised and nothing is."""
        if not self._began and len(self._held) == self._silent:
            return  # nothing was ever sent
        cursor = self.connection.cursor()
        with self._pipeline():
            self._send_held()
            cursor.execute("COMMIT", prepare=False)
        if cursor.statusmessage != "COMMIT":
            # A statement had failed and its error was swallowed: the server answers COMMIT with ROLLBACK.
            raise psycopg.errors.InFailedSqlTransaction("the transaction had failed and was rolled back")

    def _send_held(self) -> None:
        held, self._held = self._held, []
        self._began = True
        cursor = self.connection.cursor()
        for sql, values in held:
            cursor.execute(sql.encode(), values)

    def _pipeline(self) -> AbstractContextManager[Any]:
        return self.connection.pipeline() if psycopg.Pipeline.is_supported() else nullcontext()
