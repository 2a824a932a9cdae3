"""Make sure that a lost session has ended on the server too.

A connection can break on our side before the server notices: the session keeps its locks, and a COMMIT may still be in
transit. A retry would then wait for our own old session, or run twice. So every session holds an advisory lock under its own
number. A caller that lost a session looks for the holder of that number, gives it time to end by itself (it may be about to
commit), and terminates it.
"""

from __future__ import annotations

import time

from backscroll.stores.postgres.connection import Connection

_GRACE = 2.0  # seconds

_HOLDER = (
    "FROM pg_catalog.pg_locks WHERE locktype = 'advisory' AND objsubid = 1 "
    "AND database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database()) "
    "AND (classid::bigint << 32 | objid::bigint) = %s"
)


def wait_for_end(connection: Connection, fence: int, deadline: float) -> bool:
    """Return True once the session with this number has ended, and its transaction with it."""
    ask_to_end = time.monotonic() + _GRACE
    while True:
        row = connection.execute(f"SELECT count(*) {_HOLDER}".encode(), (fence,)).fetchone()
        if row is None or not row[0]:
            return True
        now = time.monotonic()
        if now > deadline:
            return False
        if now > ask_to_end:
            connection.execute(f"SELECT pg_terminate_backend(pid) {_HOLDER}".encode(), (fence,))
        time.sleep(0.02)
