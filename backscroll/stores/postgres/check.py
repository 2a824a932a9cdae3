"""Counting what is there, and looking for what should not be: rows without their counterpart, indexes that are not valid.

Whether log, history and words say the same is for `verify`, which reads them through the port; here is only what that cannot
see, because it would never be asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from backscroll.stores.postgres.schema import DISTRIBUTED_BY
from backscroll.stores.postgres.session import Session

_SHOWN = 20
_TABLES = sorted(DISTRIBUTED_BY)


def _own(tenant: str) -> tuple[Any, ...]:
    return (tenant,)


def _all_tables(_tenant: str) -> tuple[Any, ...]:
    return (_TABLES,)


#: What to count, and with which values. `bytes` is for all tenants: a table has one size.
STATS: dict[str, tuple[str, Callable[[str], tuple[Any, ...]]]] = {
    "threads": ("SELECT count(*) FROM backscroll_threads WHERE tenant = %s", _own),
    "events": ("SELECT count(*) FROM backscroll_events WHERE tenant = %s", _own),
    "messages": ("SELECT sum(messages)::bigint FROM backscroll_threads WHERE tenant = %s", _own),
    "turns": ("SELECT sum(turns)::bigint FROM backscroll_threads WHERE tenant = %s", _own),
    "revisions": ("SELECT count(*) FROM backscroll_events WHERE tenant = %s AND digest IS NOT NULL", _own),
    "blobs": ("SELECT count(*) FROM backscroll_blobs WHERE tenant = %s", _own),
    "blob_bytes": ("SELECT sum(length(data))::bigint FROM backscroll_blobs WHERE tenant = %s", _own),
    "indexed": ("SELECT count(*) FROM backscroll_words WHERE tenant = %s", _own),
    "artefacts": ("SELECT count(*) FROM backscroll_made WHERE tenant = %s", _own),
    "replies": ("SELECT count(*) FROM backscroll_replies WHERE tenant = %s", _own),
    "vectors": ("SELECT count(*) FROM backscroll_vectors WHERE tenant = %s", _own),
    "charges": ("SELECT count(*) FROM backscroll_charges WHERE tenant = %s", _own),
    "bytes": (
        "SELECT sum(pg_total_relation_size(name::regclass))::bigint FROM unnest(%s::text[]) AS n (name)",
        _all_tables,
    ),
}

_ABSENT = "NOT EXISTS (SELECT FROM {table} o WHERE o.tenant = w.tenant AND {how})"

#: What would be wrong, and the rows that show it.
_WRONG: tuple[tuple[str, str], ...] = (
    (
        "a thread without a place in the directory: {0}",
        "SELECT w.id::text FROM backscroll_threads w WHERE w.tenant = %s AND "
        + _ABSENT.format(table="backscroll_directory", how="o.thread = w.id AND o.root = w.root"),
    ),
    (
        "a place in the directory without a thread: {0}",
        "SELECT w.thread::text FROM backscroll_directory w WHERE w.tenant = %s AND "
        + _ABSENT.format(table="backscroll_threads", how="o.root = w.root AND o.id = w.thread"),
    ),
    (
        "an event without a thread: {0}.{1}",
        "SELECT w.thread::text, min(w.seq) FROM backscroll_events w WHERE w.tenant = %s AND "
        + _ABSENT.format(table="backscroll_threads", how="o.root = w.root AND o.id = w.thread")
        + " GROUP BY 1",
    ),
    (
        "a state of a message without the event of its words: {0}.{1}",
        "SELECT w.revision_thread::text, w.revision_seq FROM backscroll_entries w WHERE w.tenant = %s AND "
        + _ABSENT.format(
            table="backscroll_events",
            how="o.root = w.root AND o.thread = w.revision_thread AND o.seq = w.revision_seq",
        ),
    ),
    (
        "words in the index without an event: {0}.{1}",
        "SELECT w.thread::text, w.seq FROM backscroll_words w WHERE w.tenant = %s AND "
        + _ABSENT.format(
            table="backscroll_events", how="o.root = w.root AND o.thread = w.thread AND o.seq = w.seq"
        ),
    ),
    *(
        (
            "something made of forgotten words is left: event {0}.{1}",
            f"SELECT w.thread::text, w.seq FROM {table} w WHERE w.tenant = %s AND "
            + _ABSENT.format(
                table="backscroll_events",
                how="o.root = w.root AND o.thread = w.thread AND o.seq = w.seq AND o.body IS NOT NULL",
            ),
        )
        for table in (
            "backscroll_made_from",
            "backscroll_replies_from",
            "backscroll_vectors",
            "backscroll_tokens",
        )
    ),
    (
        "two open states of one message: {0}.{1} in {2}",
        (
            "SELECT w.message_thread::text, w.message_seq, w.thread::text FROM backscroll_entries w WHERE w.tenant = %s "
            "AND w.until IS NULL GROUP BY w.root, w.thread, w.message_thread, w.message_seq HAVING count(*) > 1"
        ),
    ),
)
_BROKEN_INDEX = (
    "SELECT c.relname::text FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid "
    "WHERE i.indrelid IN (SELECT name::regclass FROM unnest(%s::text[]) AS n (name)) AND NOT (i.indisvalid AND i.indisready)"
)


def faults_found(session: Session, tenant: str) -> list[str]:
    """What is wrong, in plain words; empty where nothing is."""
    session.tell(
        "SELECT set_config('statement_timeout', '0', true)"
    )  # this reads every row, however many there are
    out = [f"the index {row[0]} is not valid: REINDEX it" for row in session.ask(_BROKEN_INDEX, _TABLES)]
    for what, sql in _WRONG:
        out += [what.format(*row) for row in session.ask(f"{sql} LIMIT {_SHOWN}", tenant)]
    return out[:_SHOWN]
