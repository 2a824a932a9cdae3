"""The connection pool of this process for one database: shared by all its stores (tenants), served in order of request.

Owns the queue, the limit, and when a connection is opened, checked, kept or closed. Connections hold no state of a tenant;
settings apply to one transaction (`session`).

- Fair: a released slot goes to the caller that has waited longest; later callers are never served earlier.
- A caller that holds a connection already gets another one at once, beyond the limit: a read inside a write must not wait
  for itself.
- A connection is opened by the caller that needs it, so that the reason of a failure reaches that caller. If the server
accepts no more connections, the pool uses those it has and tries again a little later.
- A connection that was unused for `idle` seconds is closed, by a timer that only runs while something is idle.
- A forked child starts with none: its parent's must not be touched, not even closed.
"""

from __future__ import annotations

import os
import selectors
import threading
import time
from collections import deque
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from weakref import WeakSet

import psycopg
from psycopg.pq import TransactionStatus

from backscroll.errors import StoreBusy, StoreError
from backscroll.stores.postgres.connection import Address, Connection, reach
from backscroll.stores.postgres.faults import is_full

_GROW_AGAIN = 1.0  # seconds after which a server that took no more connections is asked again

#: Connections inherited by a forked child. Kept referenced, because closing them would notify the server.
_inherited: list[list[Connection]] = []
_pools: dict[tuple[tuple[str, str], ...], ConnectionPool] = {}
_every_pool: WeakSet[ConnectionPool] = WeakSet()
_sharing = threading.Lock()


@dataclass(slots=True, eq=False)
class _Ticket:
    """A place in the queue. `granted` is written under the pool's lock."""

    called: threading.Event
    granted: bool = False


class ConnectionPool:
    """Lends connections to OS threads, first come, first served."""

    def __init__(self, place: Address, size: int, idle: float) -> None:
        self._place = place
        self.size = max(1, size)
        self._keep = idle
        self.users = 0
        self.start()
        _every_pool.add(self)

    def start(self) -> None:
        """Start empty: a new pool, or its copy in a forked child."""
        self._lock = threading.Lock()
        self._queue: deque[_Ticket] = deque()
        self._idle: list[tuple[float, Connection]] = []  # since when; the one used last is lent first
        self._open: WeakSet[Connection] = WeakSet()
        self._out = 0  # slots in use
        self._ceiling = self.size  # fewer than `size` for a while, where the server takes no more
        self._grow_at = 0.0
        self._timer: threading.Timer | None = None
        self._mine = threading.local()

    def leave_behind(self) -> None:
        """In a forked child: drop all state without touching the connections."""
        if self._open:
            _inherited.append(list(self._open))
        self.start()

    # -- lending -----------------------------------------------------------------------------------------------

    @contextmanager
    def lend_connection(self, deadline: float, *, known: bool = True) -> Generator[Connection]:
        """Lend a connection; it is returned without a transaction, or closed.

        `known`: the server has answered before, so wait for it; else a failure is raised at once.
        """
        depth: int = getattr(self._mine, "depth", 0)
        me, ticket = os.getpid(), _Ticket(threading.Event())
        connection: Connection | None = None
        try:
            self._mine.depth = depth + 1
            if depth:
                connection = self._ready() or self._open_connection(deadline, known=known, alone=True)
            else:
                self._wait_for_slot(ticket, deadline)
            while connection is None and (connection := self._ready()) is None:
                try:
                    connection = self._open_connection(deadline, known=known)
                except StoreError as fault:
                    if not self._makes_do(ticket, fault):
                        raise
                    self._wait_for_slot(ticket, deadline)
            yield connection
        finally:
            if os.getpid() == me:
                self._mine.depth = depth
                self._give_back(connection, ticket)

    def _wait_for_slot(self, ticket: _Ticket, deadline: float) -> None:
        """Take a slot, or queue for one. A caller that could not use its turn is already at the front."""
        with self._lock:
            if not ticket.granted and ticket not in self._queue:
                self._queue.append(ticket)
            self._call_next()
        if not ticket.called.wait(max(0.0, deadline - time.monotonic())):
            open_now, _, waiting = self.counts()
            raise StoreBusy(
                f"all {open_now} connections to the server were in use for too long; {waiting} callers wait",
                hint="nothing was written; try again, or raise postgres.connections",
            )

    def _call_next(self) -> None:
        """Grant free slots to the callers that waited longest. Call under the lock."""
        if self._ceiling < self.size and time.monotonic() >= self._grow_at:
            self._ceiling = self.size
        while self._queue and self._out < self._ceiling:
            ticket = self._queue.popleft()
            ticket.granted = True
            self._out += 1
            ticket.called.set()

    def _ready(self) -> Connection | None:
        """Return an idle connection. Those that the server has closed or sent data on are closed here."""
        while True:
            with self._lock:
                if not self._idle:
                    return None
                _, connection = self._idle.pop()
            if not connection.closed and not _has_news(connection):
                return connection
            self._discard(connection)

    def _open_connection(self, deadline: float, *, known: bool, alone: bool = False) -> Connection:
        """Return a new connection. Wait for a full server only if it has no other connection to wait for (`alone`)."""

        def give_way() -> bool:
            with self._lock:
                return bool(self._open) and not alone

        connection = reach(self._place, deadline, known=known, give_way=give_way)
        with self._lock:
            self._open.add(connection)
        return connection

    def _makes_do(self, ticket: _Ticket, fault: StoreError) -> bool:
        """Return True if the server is full and we have connections: release the slot and wait for one of those, first in
        line.
        """
        with self._lock:
            if not is_full(fault) or not self._open:
                return False
            self._ceiling = max(1, len(self._open))
            self._grow_at = time.monotonic() + _GROW_AGAIN
            self._out -= 1
            ticket.granted = False
            ticket.called.clear()
            self._queue.appendleft(ticket)
            return True

    # -- giving back -------------------------------------------------------------------------------------------

    def _give_back(self, connection: Connection | None, ticket: _Ticket) -> None:
        keep = connection is not None and _reset_connection(connection)
        with self._lock:
            if connection is not None and keep and self.users > 0 and len(self._open) <= self.size:
                self._idle.append((time.monotonic(), connection))
                connection = None
                if self._timer is None:
                    self._arm(self._keep)
            if ticket.granted:
                self._out -= 1
            elif ticket in self._queue:
                self._queue.remove(ticket)
            self._call_next()
        if connection is not None:
            self._discard(connection)

    def _discard(self, connection: Connection) -> None:
        with suppress(psycopg.Error):  # it may be broken: then there is nothing left to close
            connection.close()
        with self._lock:
            self._open.discard(connection)

    def _arm(self, seconds: float) -> None:
        """Schedule the next look in so many seconds. Call under the lock."""
        self._timer = threading.Timer(seconds, self._close_unused)
        self._timer.name, self._timer.daemon = "backscroll-idle-connections", True
        self._timer.start()

    def _close_unused(self) -> None:
        now = time.monotonic()
        with self._lock:
            self._timer = None
            old = [each for each in self._idle if each[0] + self._keep <= now]
            self._idle = [each for each in self._idle if each[0] + self._keep > now]
            if self._idle:
                self._arm(self._idle[0][0] + self._keep - now)
        for _, connection in old:
            self._discard(connection)

    def drop_idle(self) -> None:
        """Close what is not in use: after a restart of the server none of it works."""
        with self._lock:
            idle, self._idle = self._idle, []
            timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()
        for _, connection in idle:
            self._discard(connection)

    def counts(self) -> tuple[int, int, int]:
        """Return the numbers of open connections, used slots, and waiting callers."""
        with self._lock:
            return len(self._open), self._out, len(self._queue)

    # -- users -------------------------------------------------------------------------------------------------

    def join(self, size: int, idle: float) -> None:
        """Add a store. The widest limits of all stores apply."""
        with self._lock:
            self.users += 1
            if size > self.size:
                self.size = self._ceiling = size
            self._keep = max(self._keep, idle)

    def leave(self) -> None:
        """Remove a store; after the last, idle connections are closed, and the others when they are returned."""
        with self._lock:
            self.users -= 1
            last = self.users <= 0
        if last:
            self.drop_idle()


def _reset_connection(connection: Connection) -> bool:
    """Roll back an open transaction; return True if the connection is usable."""
    if connection.closed:
        return False
    if connection.info.transaction_status in (TransactionStatus.INTRANS, TransactionStatus.INERROR):
        with suppress(psycopg.Error):  # then the connection is broken, and the server rolls back by itself
            connection.execute("ROLLBACK")
    return connection.info.transaction_status == TransactionStatus.IDLE


def _has_news(connection: Connection) -> bool:
    """Return True if the server sent data on an idle connection: usually that it was closed."""
    with selectors.DefaultSelector() as selector:
        selector.register(connection.fileno(), selectors.EVENT_READ)
        return bool(selector.select(0))


def shared_pool(place: Address, size: int, idle: float) -> ConnectionPool:
    """Return the pool of this process for a database; release it with `let_go`."""
    with _sharing:
        pool = _pools.get(place.database)
        if pool is None:
            pool = _pools[place.database] = ConnectionPool(place, size, idle)
        pool.join(size, idle)
        return pool


def let_go(place: Address, pool: ConnectionPool) -> None:
    """Release a pool; it closes with its last store."""
    with _sharing:
        pool.leave()
        if pool.users <= 0 and _pools.get(place.database) is pool:
            del _pools[place.database]


def _in_child() -> None:
    """Reset pools in a forked child: locks held by other threads of the parent would never be released."""
    global _sharing
    _sharing = threading.Lock()
    for pool in list(_every_pool):
        pool.leave_behind()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
