"""Maintain whole tables: rewrite them after a forget, and report on the server to `doctor`.

PostgreSQL keeps the old version of a row until its space is reused, and a word in its index forever. Only rewriting a table with
its indexes (VACUUM FULL) takes them out of the files. That locks the table: only tables with erasures are rewritten, and the
lock is requested in short attempts, because every later caller queues behind it. A table too large to wait for is vacuumed
instead: no query or index finds the text, but the file may hold it in unused space, which is reported.

A rewrite still copies rows that some transaction may see. The server computes that from its oldest transaction in any
database: a long import elsewhere keeps our old rows alive. So we wait for those, and check after each rewrite how many dead
rows the server had to copy.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from enum import Enum

import psycopg
from psycopg import sql

from backscroll.stores.postgres.connection import Connection
from backscroll.stores.postgres.schema import DISTRIBUTED_BY, SCRUB_BYTES, SCRUB_WORDS

_HOLD_WORDS: dict[str, tuple[str, ...]] = {
    SCRUB_WORDS: (
        "backscroll_words",
        "backscroll_events",
        "backscroll_threads",
        "backscroll_tokens",
        "backscroll_made",
        "backscroll_made_from",
        "backscroll_replies",
        "backscroll_replies_from",
        "backscroll_vectors",
        "backscroll_nodes",
        "backscroll_turn_marks",
        "backscroll_receipts",
    ),
    SCRUB_BYTES: ("backscroll_blobs", "backscroll_blob_users"),
}
_TRY_SECONDS = 2.0
_LARGE = 1 << 30  # bytes; rewriting that many takes most of a minute

#: No client that connects to a server can reach these.
OUT_OF_REACH: tuple[str, ...] = (
    "the server's write-ahead log, until the server recycles it, and archived copies of it",
    "backups of the server, snapshots of its disk, and exports",
    "the server's own log, where it is set to log statements with their values",
    "standby servers, until they have caught up",
)


def scrub_tables(connection: Connection, patience: float, *, pooled: bool) -> list[str]:
    """Rewrite the tables that text was erased from; return what still contains it.

    The connection is for this alone: its settings are not restored. `pooled`: a pooler assigns sessions per transaction, so
    everything must happen in transactions.
    """
    deadline = time.monotonic() + patience
    left = list(OUT_OF_REACH)
    marks = _marks(connection)
    if not marks:
        return left
    if not pooled:  # ours or not: a resuming process leaves it to us
        connection.execute(_ALONE, (_SCRUBBING,))
    others = _wait_for_older(connection, min(deadline, time.monotonic() + 5 * _TRY_SECONDS))
    if others:
        left.append(
            f"what {others} other sessions or standbys still see: end them, then open the store again"
        )
    done: dict[str, _RewriteResult] = {}
    watch = _ServerNotices(in_vain=others > 0)
    connection.add_notice_handler(watch)
    try:
        if not pooled:
            connection.execute(_LIMITS.format(local="false").encode())
        rewrite = _rewrite_in_transaction if pooled else _rewrite
        for mark in marks:
            done |= {t: _rewrite_table(connection, t, deadline, watch, rewrite) for t in _HOLD_WORDS[mark]}
    finally:
        connection.remove_notice_handler(watch)
    for how in (_RewriteResult.SWEPT, _RewriteResult.BUSY):
        tables = [table for table, got in done.items() if got is how]
        left += [how.value.format(", ".join(tables))] if tables else []
    if watch.said:
        left.append(f"old pages that only the owner of the tables may rewrite ({'; '.join(watch.said)})")
    if not (others or watch.said or _RewriteResult.BUSY in done.values()):
        for mark, value in marks.items():
            # Only the mark that we saw: another process may have erased something else meanwhile.
            connection.execute(
                "DELETE FROM backscroll_meta WHERE key = %s AND value = ANY(%s::text[])", (mark, value)
            )
    return left


def finish_scrub(connection: Connection, *, pooled: bool) -> bool:
    """Finish the rewrite of a client that was interrupted after its forget; False if it is still due.

    No caller asked for it, so none waits for it: it is left for later if a transaction still sees the text, or another client
    is rewriting.
    """
    if not _marks(connection):
        return True
    if not pooled and not _says_yes(connection.execute(_ALONE, (_SCRUBBING,)).fetchone()):
        return False
    if _wait_for_older(connection, 0.0):
        return False
    scrub_tables(connection, _TRY_SECONDS, pooled=pooled)
    return not _marks(connection)


def _says_yes(row: tuple[object, ...] | None) -> bool:
    return row is not None and bool(row[0])


_SCRUBBING = 0x42534353  # the advisory lock of the process that rewrites tables; released with the session
_ALONE = "SELECT pg_try_advisory_lock(%s)"


class _RewriteResult(Enum):
    """The outcome of rewriting a table."""

    REWRITTEN = ""
    SWEPT = "unused space in {}, too large to rewrite while others work: VACUUM FULL when the store may stand still"
    BUSY = "old pages of {}, which others kept in use: the next opening of the store rewrites them"


class _ServerNotices:
    """Collects the server's notices.

    The server does not refuse to rewrite another owner's table, it warns and skips it. It also reports how many dead rows it
    copied because another process may still see them: the first number of a detail, in any language.
    """

    def __init__(self, in_vain: bool) -> None:
        self.said: list[str] = []
        self.copied = 0
        self.in_vain = in_vain
        """True where it is known that dead rows are copied: to rewrite again would change nothing."""

    def __call__(self, notice: psycopg.errors.Diagnostic) -> None:
        if notice.severity_nonlocalized == "WARNING" and notice.message_primary:
            self.said.append(notice.message_primary)
        elif notice.severity_nonlocalized == "INFO" and (
            number := re.search(r"\d+", notice.message_detail or "")
        ):
            self.copied += int(number[0])


def _marks(connection: Connection) -> dict[str, list[str]]:
    """Return the tables to rewrite, for all tenants: a table has one file."""
    rows = connection.execute(
        "SELECT key, array_agg(value) FROM backscroll_meta WHERE key = ANY(%s::text[]) GROUP BY key ORDER BY key DESC",
        (list(_HOLD_WORDS),),
    ).fetchall()
    return {row[0]: row[1] for row in rows}


#: Transactions older than a given time: writers in any database, readers in ours and on standbys.
_OLDER = """
SELECT greatest(
    (SELECT count(*) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND (
        age(backend_xid) > age(%(then)s::xid) OR (age(backend_xmin) > age(%(then)s::xid)
            AND backend_type IN ('client backend', 'walsender')
            AND (datname IS NULL OR datname = current_database() OR backend_type = 'walsender'))))
    + (SELECT count(*) FROM pg_prepared_xacts WHERE age(transaction) > age(%(then)s::xid)),
    -- Who may not see the sessions of others still sees that there is an older one.
    (pg_snapshot_xmin(pg_current_snapshot())::text::bigint < %(now)s)::integer
) + (SELECT count(*) FROM pg_replication_slots WHERE xmin IS NOT NULL)
"""


def _wait_for_older(connection: Connection, deadline: float) -> int:
    """Wait briefly for older transactions; return how many still see the old rows."""
    row = connection.execute(
        "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint, pg_snapshot_xmax(pg_current_snapshot())::xid::text"
    ).fetchone()
    now, then = row if row is not None else (0, "0")
    while True:
        row = connection.execute(_OLDER, {"now": now, "then": then}).fetchone()
        count: int = row[0] if row else 0
        if not count or time.monotonic() > deadline:
            return count
        time.sleep(0.02)


#: A rewrite is not limited in time, but its lock is requested in short attempts.
_LIMITS = (
    "SELECT set_config('statement_timeout', '0', {local}), "
    f"set_config('lock_timeout', '{round(_TRY_SECONDS * 1000)}', {{local}})"
)


def _rewrite(connection: Connection, table: str, _watch: _ServerNotices) -> None:
    connection.execute(sql.SQL("VACUUM (FULL, VERBOSE) {}").format(sql.Identifier(table)))


def _rewrite_in_transaction(connection: Connection, table: str, watch: _ServerNotices) -> None:
    """Rewrite a table by CLUSTER, which unlike VACUUM may run inside a transaction, in the order of its primary key."""
    index = connection.execute(
        "SELECT c.relname FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid "
        "WHERE i.indrelid = %s::regclass AND i.indisprimary",
        (table,),
    ).fetchone()
    assert index is not None, table
    try:
        with connection.transaction():
            connection.execute(_LIMITS.format(local="true").encode())
            order = sql.SQL("CLUSTER (VERBOSE) {} USING {}")
            connection.execute(order.format(sql.Identifier(table), sql.Identifier(index[0])))
    except psycopg.errors.InsufficientPrivilege as error:
        watch.said.append(error.diag.message_primary or str(error))


_Rewrite = Callable[[Connection, str, _ServerNotices], None]


def _rewrite_table(
    connection: Connection, table: str, deadline: float, watch: _ServerNotices, rewrite: _Rewrite
) -> _RewriteResult:
    row = connection.execute("SELECT pg_total_relation_size(%s::regclass)", (table,)).fetchone()
    if row is not None and row[0] > _LARGE:
        connection.execute(sql.SQL("VACUUM {}").format(sql.Identifier(table)))
        if table == "backscroll_words":
            connection.execute("REINDEX INDEX CONCURRENTLY backscroll_words_found")
        return _RewriteResult.SWEPT
    pause = 0.1
    while True:
        watch.copied = 0
        try:
            rewrite(connection, table, watch)
            if watch.in_vain or not watch.copied:
                return _RewriteResult.REWRITTEN
        except psycopg.errors.LockNotAvailable:
            pause = 0.1
        if time.monotonic() > deadline:
            return _RewriteResult.BUSY
        time.sleep(pause)
        pause = min(2 * pause, _TRY_SECONDS)


def facts_of(connection: Connection) -> Mapping[str, str]:
    """Return facts about the server for `doctor`."""
    row = connection.execute(
        "SELECT current_setting('server_version'), current_setting('server_encoding'), current_database()::text, "
        "current_schema()::text, (SELECT max(version) FROM backscroll_schema)::text, "
        "(SELECT sum(pg_total_relation_size(name::regclass)) FROM unnest(%s::text[]) AS n (name))::text, "
        "current_setting('synchronous_commit'), current_setting('fsync'), current_setting('full_page_writes'), "
        "pg_is_in_recovery()::text",
        (sorted(DISTRIBUTED_BY),),
    ).fetchone()
    names = (
        "server",
        "encoding",
        "database",
        "schema_name",
        "schema_version",
        "bytes",
        "synchronous_commit",
        "fsync",
        "full_page_writes",
        "standby",
    )
    found = dict(zip(names, map(str, row or ()), strict=False))
    return {"engine": f"PostgreSQL {found.pop('server', '')}", **found}
