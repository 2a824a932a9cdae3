"""Check integrity: damaged pages and index, columns that differ from their source.

`verify` checks log, history and text through the port; this module checks only what that cannot reach: SQLite's own pages,
rows without their counterpart, and the lookup columns of events.
"""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from itertools import islice

from backscroll.errors import BackscrollError
from backscroll.record.chain import DAMAGE, from_bytes
from backscroll.record.order import at_end
from backscroll.record.thread_info import about_from_bytes
from backscroll.stores.columns import plain
from backscroll.stores.event_index import beside
from backscroll.stores.sqlite.compression import unpack_body
from backscroll.stores.sqlite.faults import FAULTS, is_busy, is_read_only
from backscroll.stores.sqlite.word_index import misfits, recipe
from backscroll.vocab.values.moment import microseconds

_SHOWN = 20

#: Possible problems, with the queries for rows that show them.
_WRONG: tuple[tuple[str, str], ...] = (
    (
        "an event without a thread: {0}",
        "SELECT name FROM named WHERE key >> 32 NOT IN (SELECT no FROM threads)",
    ),
    (
        "words of event {0} in the index that it does not know of",
        """SELECT coalesce((SELECT name FROM named WHERE key = c.event), c.event) FROM indexed c
        WHERE NOT EXISTS (SELECT 1 FROM events WHERE key = c.event AND doc = c.doc)""",
    ),
    (
        "event {0} has a place in the index that is not its own",
        """SELECT name FROM named
        WHERE doc <> 0 AND NOT EXISTS (SELECT 1 FROM indexed i WHERE i.doc = named.doc AND i.event = key)""",
    ),
    (
        "the index and the list of what is in it differ: number {0}",
        """SELECT id FROM words_docsize WHERE id NOT IN (SELECT doc FROM indexed)
        UNION SELECT doc FROM indexed WHERE doc NOT IN (SELECT id FROM words_docsize)""",
    ),
    (
        "a state of a message without the event of its words: {0}",
        """SELECT (e.revision >> 32) || '.' || (e.revision & 4294967295) FROM entries e
        WHERE NOT EXISTS (SELECT 1 FROM events WHERE key = e.revision)""",
    ),
    (
        "{0} has another role than its message",
        """SELECT n.name FROM events v JOIN events t ON t.key = v.target JOIN named n ON n.key = v.key
        WHERE v.kind IN ('edited', 'regenerated') AND v.role <> t.role AND v.body IS NOT NULL""",
    ),
    (
        "something made of forgotten words is left: event {0}",
        """SELECT n.name FROM (SELECT source AS key FROM made_from UNION SELECT source FROM replies_from
        UNION SELECT event FROM signs UNION SELECT event FROM tokens) d JOIN events v ON v.key = d.key
        JOIN named n ON n.key = d.key WHERE v.body IS NULL""",
    ),
    (
        "the origin of something imported leads to thread {0}, which is missing",
        "SELECT thread FROM origins WHERE thread NOT IN (SELECT id FROM threads)",
    ),
    (
        "what is kept for quick recall of event {0} does not follow from it",
        """SELECT n.name FROM signs s JOIN events v ON v.key = s.event JOIN named n ON n.key = v.key
        WHERE s.said_us <> v.said_us OR s.encoder NOT IN (SELECT no FROM encoders) OR s.no NOT IN (SELECT no FROM vectors)
        OR typeof(s.role) <> 'integer'""",
    ),
    (
        "a count of tokens that is none: event {0}",
        """SELECT n.name FROM tokens t JOIN named n ON n.key = t.event
        WHERE typeof(t.count) <> 'integer' OR t.count < 0""",
    ),
    (
        "something is kept for thread number {0}, which is missing",
        """SELECT DISTINCT d.thread FROM (SELECT thread FROM entries UNION SELECT thread FROM turn_states UNION
        SELECT thread FROM made UNION SELECT thread FROM replies UNION SELECT thread FROM nodes UNION SELECT thread FROM progress
        UNION SELECT thread FROM receipts UNION SELECT thread FROM turn_marks) d WHERE d.thread NOT IN (SELECT no FROM threads)""",
    ),
    (
        "something was derived and does not say from what: number {0}",
        """SELECT m.made FROM made_from m WHERE m.made NOT IN (SELECT no FROM made)
        UNION SELECT r.reply FROM replies_from r WHERE r.reply NOT IN (SELECT no FROM replies)""",
    ),
    (
        "something is made of an event that is missing: {0}",
        """SELECT (d.key >> 32) || '.' || (d.key & 4294967295) FROM (SELECT source AS key FROM made_from
        UNION SELECT source FROM replies_from UNION SELECT event FROM signs) d
        WHERE NOT EXISTS (SELECT 1 FROM events WHERE key = d.key)""",
    ),
)
_NAMED = (
    "WITH named AS (SELECT v.key, v.doc, coalesce((SELECT id FROM threads WHERE no = v.key >> 32), '?') || '.' || "
    "(v.key & 4294967295) AS name FROM events v) "
)


def faults_found(connection: sqlite3.Connection, another: Callable[[], sqlite3.Connection]) -> list[str]:
    """Return the problems found, as text; empty if there are none."""
    found = _all(connection, another)
    return list(dict.fromkeys(islice(found, _SHOWN)))


def _all(connection: sqlite3.Connection, another: Callable[[], sqlite3.Connection]) -> Iterator[str]:
    for part in (_pages, _index_of(another), _rows, _times, _labels, _homes, _sources, _columns):
        try:
            yield from part(connection)
        except FAULTS as error:
            yield f"it cannot be read: {error}"
        except BackscrollError as error:
            yield error.message


def _pages(connection: sqlite3.Connection) -> Iterator[str]:
    for (said,) in connection.execute(f"PRAGMA integrity_check({_SHOWN})"):
        if said != "ok":
            yield said


def _index_of(another: Callable[[], sqlite3.Connection]) -> Callable[[sqlite3.Connection], Iterator[str]]:
    """Let the full-text index check itself, on its own connection: SQLite treats the check as a write."""

    def look(_: sqlite3.Connection) -> Iterator[str]:
        with closing(another()) as connection:
            try:
                connection.execute("BEGIN IMMEDIATE")
                # Words from another recipe can differ from ours and be correct: then the index is only compared with itself.
                foreign = connection.execute(
                    "SELECT 1 FROM indexed WHERE recipe <> ?", (recipe(),)
                ).fetchone()
                sql = "INSERT INTO words (words, rank) VALUES ('integrity-check', ?)"
                connection.execute(sql, (0 if foreign else 1,))
            except sqlite3.DatabaseError as error:
                if not is_read_only(error) and not is_busy(error):  # unknown otherwise
                    yield f"the full-text index does not fit the words ({error})"
                    yield from _named_misfits(connection)
            finally:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")

    return look


def _named_misfits(connection: sqlite3.Connection) -> Iterator[str]:
    """Yield the revisions whose words the index lacks."""
    names = dict(connection.execute("SELECT no, id FROM threads"))
    for key in islice(misfits(connection), _SHOWN):
        yield f"the index does not hold the words of event {names.get(key >> 32, '?')}.{key & 0xFFFFFFFF}"


def _rows(connection: sqlite3.Connection) -> Iterator[str]:
    for what, sql in _WRONG:
        for row in connection.execute(f"{_NAMED}{sql} LIMIT {_SHOWN}"):
            yield what.format(*row)


def _times(connection: sqlite3.Connection) -> Iterator[str]:
    """Check that the times of a thread follow from its events."""
    sql = """SELECT t.id, t.created_at, t.updated_at, t.updated_us, v.at, v.said FROM threads t
        LEFT JOIN events v ON v.key = (t.no << 32) + t.fork_seq + 1"""
    for name, created, updated, us, at, said in connection.execute(sql):
        try:
            right = created in (at, said) and microseconds(updated) == us
        except DAMAGE:
            right = False
        if not right:
            yield f"the times of thread {name} do not follow from its log"


def _labels(connection: sqlite3.Connection) -> Iterator[str]:
    """Check that the project, kind, user and key by which a thread is listed are those of the thread."""
    sql = "SELECT id, project, kind, person, own_key, about FROM threads"
    for name, *labels, about in connection.execute(sql):
        try:
            held = about_from_bytes(about)
            right = labels == [plain(text) for text in (held.project, held.kind, held.user, held.key)]
        except (*DAMAGE, BackscrollError):
            continue  # verification reports problems of the row itself
        if not right:
            yield f"the project, kind, user or key by which thread {name} is listed is not its own"


def _homes(connection: sqlite3.Connection) -> Iterator[str]:
    """Check the records of messages moved from their original position."""
    names = dict(connection.execute("SELECT no, id FROM threads"))
    for thread, position, message, strayed in connection.execute(
        "SELECT thread, position, message, strayed FROM entries"
    ):
        home = message >> 32 == thread and position == at_end(message & 0xFFFFFFFF)
        if strayed != (not home):
            yield f"thread {names.get(thread, '?')}: whether message {message & 0xFFFFFFFF} was moved is noted wrongly"


def _sources(connection: sqlite3.Connection) -> Iterator[str]:
    """Check that derived rows name the events they were made from, by which they are found and erased."""
    for table, names, column in (("made", "made_from", "made"), ("replies", "replies_from", "reply")):
        noted: dict[int, set[int]] = {}
        for number, source in connection.execute(f"SELECT {column}, source FROM {names}"):
            noted.setdefault(number, set()).add(source)
        for number, sources in connection.execute(f"SELECT no, sources FROM {table}"):
            try:
                right = {key for (key,) in struct.iter_unpack(">q", sources)}
            except (struct.error, TypeError):
                right = {-1}
            if noted.get(number, set()) != right:
                yield f"something was derived and does not say from what: number {number}"


def _columns(connection: sqlite3.Connection) -> Iterator[str]:
    """Check the lookup columns of events: time, actor, tools, and whether they can be undone."""
    names = dict(connection.execute("SELECT no, id FROM threads"))
    sql = (
        "SELECT key, kind, at, head, body, unpacked, said, said_us, role, tools, undoable, digest IS NOT NULL FROM events "
        "ORDER BY key"
    )
    for key, kind, at, head, body, size, *kept in connection.execute(sql):
        try:
            right = beside(kind, at, from_bytes(head), unpack_body(body, size), kept[2])
            tools = "\n" + "\n".join(right.tools) + "\n" if right.tools else ""
            differ = [*right[:3], tools, *right[4:]] != kept or (size and body is None)
        except (*DAMAGE, BackscrollError):
            continue  # verification reports problems of the event itself
        if differ:
            yield f"event {names.get(key >> 32, '?')}.{key & 0xFFFFFFFF}: what stands beside it does not follow from it"
