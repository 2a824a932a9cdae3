"""Count rows and check integrity: rows without their counterpart, invalid indexes.

`verify` checks log, history and text through the port; this module checks only what that cannot reach.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from backscroll.record.chain import from_bytes
from backscroll.record.order import WIDTH
from backscroll.record.thread_info import about_from_bytes
from backscroll.stores.columns import plain
from backscroll.stores.event_index import beside
from backscroll.stores.postgres.reading.columns import UNREADABLE
from backscroll.stores.postgres.reading.text import HOUR
from backscroll.stores.postgres.schema import DISTRIBUTED_BY
from backscroll.stores.postgres.session import PostgresSession
from backscroll.vocab.values.moment import microseconds

_SHOWN = 20
_PAGE = 1000
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

_OF_THREADS = tuple(
    f"backscroll_{name}" for name in ("entries", "turns", "nodes", "progress", "receipts", "turn_marks")
)

#: Possible problems, with the queries for rows that show them.
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
    *(
        (
            "what is kept for quick recall of event {0}.{1} does not follow from it",
            (
                f"SELECT w.thread::text, w.seq FROM {table} w JOIN backscroll_events o ON o.tenant = w.tenant AND o.root = w.root "
                "AND o.thread = w.thread AND o.seq = w.seq WHERE w.tenant = %s AND (w.said_us <> o.said_us OR w.role <> o.role)"
            ),
        )
        for table in ("backscroll_words", "backscroll_vectors")
    ),
    (
        "the origin of something imported leads to thread {0}, which is missing",
        "SELECT w.thread::text FROM backscroll_origins w WHERE w.tenant = %s AND w.thread IS NOT NULL AND "
        + _ABSENT.format(table="backscroll_directory", how="o.thread = w.thread"),
    ),
    (
        "a count of tokens that is none: event {0}.{1}",
        "SELECT w.thread::text, w.seq FROM backscroll_tokens w WHERE w.tenant = %s AND w.count < 0",
    ),
    *(
        (
            "something is kept for thread {0}, which is missing",
            f"SELECT DISTINCT w.thread::text FROM {table} w WHERE w.tenant = %s AND "
            + _ABSENT.format(table="backscroll_threads", how="o.root = w.root AND o.id = w.thread"),
        )
        for table in _OF_THREADS
    ),
    *(
        (
            "something was derived and does not say from what: event {0}.{1}",
            f"SELECT w.thread::text, w.seq FROM {table}_from w WHERE w.tenant = %s AND "
            + _ABSENT.format(table=table, how="o.key = w.key"),
        )
        for table in ("backscroll_made", "backscroll_replies")
    ),
    *(
        (
            "something was derived and does not say from what: event {0}.{1}",
            (
                f"SELECT s.thread::text, s.seq FROM {table} w, unnest(w.source_roots, w.source_threads, w.source_seqs) "
                f"AS s (root, thread, seq) WHERE w.tenant = %s AND NOT EXISTS (SELECT FROM {table}_from o "
                "WHERE o.tenant = w.tenant AND o.root = s.root AND o.thread = s.thread AND o.seq = s.seq AND o.key = w.key)"
            ),
        )
        for table in ("backscroll_made", "backscroll_replies")
    ),
    (
        "the time by which thread {0} is listed does not follow from when it changed",
        f"SELECT w.id::text FROM backscroll_threads w WHERE w.tenant = %s AND w.active <> w.updated_us / {HOUR}",
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


def faults_found(session: PostgresSession, tenant: str) -> list[str]:
    """Return the problems found, as text; empty if there are none."""
    session.tell("SELECT set_config('statement_timeout', '0', true)")  # this reads every row
    out = [f"the index {row[0]} is not valid: REINDEX it" for row in session.ask(_BROKEN_INDEX, _TABLES)]
    for what, sql in _WRONG:
        out += [what.format(*row) for row in session.ask(f"{sql} LIMIT {_SHOWN}", tenant)]
    for part in (_threads, _homes, _columns):
        if len(out) < _SHOWN:
            out += islice(part(session, tenant), _SHOWN)
    return out[:_SHOWN]


def _threads(session: PostgresSession, tenant: str) -> Iterator[str]:
    """Check the project, kind, user, key and times by which threads are listed."""
    sql = (
        "SELECT id, about, updated_at, updated_us, project, kind, person, own_key FROM backscroll_threads "
        "WHERE tenant = %s"
    )
    for name, about, updated, us, *listed in session.ask(sql, tenant):
        try:
            held = about_from_bytes(about)
            labels = listed == [plain(text) for text in (held.project, held.kind, held.user, held.key)]
            times = microseconds(updated) == us
        except UNREADABLE:
            continue  # verification reports problems of the row itself
        if not labels:
            yield f"the project, kind, user or key by which thread {name} is listed is not its own"
        if not times:
            yield f"the times of thread {name} do not follow from its log"


def _homes(session: PostgresSession, tenant: str) -> Iterator[str]:
    """Check the records of messages moved from their original position."""
    sql = (
        "SELECT thread, message_thread, message_seq FROM backscroll_entries WHERE tenant = %s AND strayed = "
        f"(thread = message_thread AND position = decode(lpad(to_hex(message_seq), {2 * WIDTH}, '0'), 'hex'))"
    )
    for thread, _, seq in session.ask(f"{sql} LIMIT {_SHOWN}", tenant):
        yield f"thread {thread}: whether message {seq} was moved is noted wrongly"


def _columns(session: PostgresSession, tenant: str) -> Iterator[str]:
    """Check the lookup columns of events: time, actor, tools, and whether they can be undone."""
    page = (
        "SELECT root, thread, seq, kind, at, head, body, said, said_us, role, tools, undoable, digest IS NOT NULL "
        "FROM backscroll_events WHERE tenant = %s AND (root, thread, seq) > (%s::uuid, %s::uuid, %s) "
        f"ORDER BY root, thread, seq LIMIT {_PAGE}"
    )
    last: tuple[object, ...] = ("0" * 32, "0" * 32, 0)
    while rows := session.ask(page, tenant, *last):
        last = rows[-1][:3]
        for _, thread, seq, kind, at, head, body, said, us, role, tools, undoable, hashed in rows:
            try:
                right = beside(kind, at, from_bytes(head), body, role)
            except UNREADABLE:
                continue  # verification reports problems of the event itself
            if right != (said, us, role, tuple(tools), undoable, hashed):
                yield f"event {thread}.{seq}: what stands beside it does not follow from it"
