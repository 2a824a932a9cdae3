"""A pool of reading connections, each lent to one caller at a time."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

from backscroll.stores.sqlite.faults import FAULTS

_KEPT = 8


class ReaderPool:
    """The reading connections of one store, shared by OS threads."""

    def __init__(self, opened: Callable[[], sqlite3.Connection], *, kept: int = _KEPT) -> None:
        self._opened = opened
        self._kept = kept
        self._idle: list[sqlite3.Connection] = []
        self._users: list[int] = []
        self._turn = threading.Condition()

    @contextmanager
    def lend_connection(self) -> Generator[sqlite3.Connection]:
        """Lend a connection; after a database error it is discarded."""
        me, connection, sound = threading.get_ident(), None, True
        with self._turn:
            self._users.append(me)
            if self._idle:
                connection = self._idle.pop()
        try:
            connection = connection or self._opened()
            yield connection
        except FAULTS:
            sound = False
            raise
        finally:
            with self._turn:
                self._users.remove(me)
                keep = sound and connection is not None and len(self._idle) < self._kept
                if keep and connection is not None:
                    self._idle.append(connection)
                self._turn.notify_all()
            if connection is not None and not keep:
                connection.close()

    def keep(self, connection: sqlite3.Connection) -> None:
        """Take over a connection that the caller opened."""
        with self._turn:
            if len(self._idle) < self._kept:
                self._idle.append(connection)
                return
        connection.close()

    def drop(self) -> None:
        """Close idle connections."""
        with self._turn:
            while self._idle:
                self._idle.pop().close()

    def close(self) -> None:
        """Close idle connections now, and the others when they are returned."""
        self._kept = 0
        self.drop()

    def pause(self, patience: float) -> None:
        """Block new transactions until `resume`, and wait for running ones; this thread's own read continues."""
        self._turn.acquire()
        others = [user for user in self._users if user != threading.get_ident()]
        if others:
            self._turn.wait_for(lambda: set(self._users) <= {threading.get_ident()}, patience)
        self.drop()

    def resume(self) -> None:
        """Continue after `pause`."""
        self._turn.release()
