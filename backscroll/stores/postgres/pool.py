"""Connections, lent and given back. The last one given back is lent first, so that few stay in use where few are needed.

Safe to share between OS threads. At most `size` are lent at a time, but who holds one already gets another: a read inside a
write must not wait for itself. A forked child starts with none: its parent's must not be touched, not even closed.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress

import psycopg
from psycopg.pq import TransactionStatus

from backscroll.errors import StoreBusy
from backscroll.stores.postgres.opening import Connection

#: What a forked child inherited. Kept, because the end of a connection object would be told to the server.
_inherited: list[list[Connection]] = []


class Pool:
    """The connections of one store in one process."""

    def __init__(self, connect: Callable[[float], Connection], size: int) -> None:
        self._connect = connect
        self._size = size
        self._idle: list[Connection] = []
        self._start()

    def _start(self) -> None:
        if self._idle:
            _inherited.append(self._idle)
        self._pid = os.getpid()
        self._idle = []
        self._room = threading.BoundedSemaphore(self._size)
        self._mine = threading.local()
        self._closed = False

    def check(self) -> None:
        """Notice that this process is a child of the one that opened the pool."""
        if self._pid != os.getpid():
            self._start()

    @property
    def closed(self) -> bool:
        """True once the pool was closed."""
        return self._closed

    @contextmanager
    def lent(self, deadline: float) -> Generator[Connection]:
        """A connection for a while; given back without a transaction, or closed."""
        depth: int = getattr(self._mine, "depth", 0)
        if depth == 0 and not self._room.acquire(timeout=max(0.0, deadline - time.monotonic())):
            raise StoreBusy(
                f"all {self._size} connections to the server were in use for too long",
                hint="nothing was written; try again",
            )
        self._mine.depth = depth + 1
        try:
            connection = self._taken() or self._connect(deadline)
            try:
                yield connection
            finally:
                self._give_back(connection)
        finally:
            self._mine.depth = depth
            if depth == 0:
                self._room.release()

    def _taken(self) -> Connection | None:
        while self._idle:
            with suppress(IndexError):  # another thread may be quicker
                connection = self._idle.pop()
                if not connection.closed:
                    return connection
        return None

    def _give_back(self, connection: Connection) -> None:
        status = connection.info.transaction_status
        if status in (TransactionStatus.INTRANS, TransactionStatus.INERROR):
            with suppress(
                psycopg.Error
            ):  # then the connection is broken, and the server rolls back by itself
                connection.execute("ROLLBACK")
            status = connection.info.transaction_status
        if status == TransactionStatus.IDLE and not self._closed and len(self._idle) < self._size:
            self._idle.append(connection)
            if self._closed:  # meanwhile, by another thread
                self.drop_idle()
        else:
            connection.close()

    def drop_idle(self) -> None:
        """Close what is not in use: after a restart of the server none of it works."""
        while self._idle:
            with suppress(IndexError):
                self._idle.pop().close()

    def close(self) -> None:
        """Close what is not in use, and the rest when it is given back."""
        if self._pid == os.getpid():
            self._closed = True
            self.drop_idle()
