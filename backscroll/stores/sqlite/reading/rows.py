"""Read rows of the SQLite store from one snapshot. Implements `record.ports.Reader`; `writing/rows` adds writing."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from backscroll.errors import StoreCorrupt
from backscroll.record.chain import DAMAGE, from_bytes, make_corrupt_error
from backscroll.record.history import Entry, EntrySpan
from backscroll.record.order import at_end
from backscroll.record.ports import Bounds, RawHit, RevisionBody, SearchFilter
from backscroll.stores.columns import plain
from backscroll.stores.sqlite.compression import unpack_body
from backscroll.stores.sqlite.reading.check import faults_found
from backscroll.stores.sqlite.reading.signs import VectorCaches
from backscroll.stores.sqlite.reading.thread_rows import ThreadRows, whole
from backscroll.stores.sqlite.scrub import read_note
from backscroll.stores.sqlite.word_index import (
    WAITING,
    filters,
    held_words,
    recipe,
    waiting,
    words_of,
)
from backscroll.vocab.event import Event, Kind
from backscroll.vocab.ids import LAST, Ref

_EVENT = "key, kind, actor, at, target, head, body, salt, seal, hash, unpacked"
_ENTRY = "e.position, e.since, e.message, e.revision, e.role, e.alternative, e.alternatives, e.flags"
_SPOKEN = "v.body, v.digest, v.said, v.actor, v.unpacked"
#: The conditions by which SQLite recognises partial indexes; verbatim as in the schema.
_FEW_EVENTS = "kind NOT IN ('appended', 'aside')"
_FEW_ENTRIES = "(e.role = 'system' OR e.flags & 4) AND NOT e.flags & 9"
#: A common word matches half of all messages; ranking only the newest few thousand keeps every search fast.
RANKED = 2000


class PendingWords(Exception):
    """Text that a search should find is not in the index yet."""


class SqliteReader(ThreadRows):
    """Reads through one connection."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        numbers: dict[str, int],
        names: dict[int, str],
        signs: VectorCaches,
        another: Callable[[], sqlite3.Connection],
        *,
        complete: bool = True,
    ) -> None:
        super().__init__(connection, numbers, names, signs)
        self._complete = complete  # a search must include text that is waiting for the index
        self._another = another  # opens another connection, for work that must not affect this one

    # -- entries ---------------------------------------------------------------------------------------------

    def _entry(self, row: Sequence[Any]) -> Entry:
        position, since, message, revision, role, alternative, alternatives, flags = row[:8]
        try:
            whole(since, message, revision, alternative, alternatives, flags)
            live = self._ref(revision)
            return Entry(self._ref(message), position, role, live, alternative, alternatives, flags, since)
        except DAMAGE as error:
            raise make_corrupt_error("an entry of a history", error) from error

    def entry(self, thread: str, message: Ref, as_of: int | None = None) -> Entry | None:
        number, key = self._number(thread), self._key(message)
        if number is None or key is None:
            return None
        when, values = ("e.until IS NULL", ()) if as_of is None else ("e.since <= ?", (as_of,))
        # A message that never moved is at the position of its own number; only the others need an index.
        sql = (
            f"SELECT {_ENTRY} FROM entries e WHERE e.thread = ? AND e.position = ? AND e.message = ? AND {when} "
            "ORDER BY e.since DESC LIMIT 1"
        )
        home = self._c.execute(sql, (number, at_end(message.seq), key, *values)).fetchone()
        if home is not None and as_of is None:
            return self._entry(home)
        sql = (
            f"SELECT {_ENTRY} FROM entries e WHERE e.thread = ? AND e.message = ? AND e.strayed = 1 AND {when} "
            "ORDER BY e.since DESC LIMIT 1"
        )
        away = self._c.execute(sql, (number, key, *values)).fetchone()
        found = [row for row in (home, away) if row is not None]
        return self._entry(max(found, key=lambda row: row[1])) if found else None

    def _within(self, number: int, bounds: Bounds) -> tuple[str, list[object]]:
        where = ["e.thread = ?", "e.since <= ?", "(e.until IS NULL OR e.until > ?)"]
        values: list[object] = [number, bounds.as_of, bounds.as_of]
        for sign, limit in ((">", bounds.after), ("<", bounds.before), ("<=", bounds.upto)):
            if limit is not None:
                where.append(f"e.position {sign} ?")
                values.append(limit)
        return " AND ".join(where), values

    def page(
        self, thread: str, bounds: Bounds, limit: int, *, newest_first: bool = False, gone: bool = False
    ) -> list[tuple[Entry, RevisionBody]]:
        number = self._number(thread)
        if number is None:
            return []
        where, values = self._within(number, bounds)
        if not gone:
            where += " AND NOT e.flags & 9 AND v.body IS NOT NULL"
        order = "DESC" if newest_first else "ASC"
        sql = (
            f"SELECT {_ENTRY}, {_SPOKEN} FROM entries e JOIN events v ON v.key = e.revision "
            f"WHERE {where} ORDER BY e.position {order} LIMIT ?"
        )
        rows = self._c.execute(sql, (*values, limit)).fetchall()
        return [(self._entry(row), _build_spoken(row[8:])) for row in rows]

    def list_marked_entries(self, thread: str, bounds: Bounds) -> list[tuple[Entry, RevisionBody]]:
        number = self._number(thread)
        if number is None:
            return []
        where, values = self._within(number, bounds)
        sql = (
            f"SELECT {_ENTRY}, {_SPOKEN} FROM entries e INDEXED BY entries_marked JOIN events v ON v.key = e.revision "
            f"WHERE {where} AND {_FEW_ENTRIES} AND v.body IS NOT NULL ORDER BY e.position"
        )
        return [(self._entry(row), _build_spoken(row[8:])) for row in self._c.execute(sql, values).fetchall()]

    def count(self, thread: str, bounds: Bounds, *, role: str | None = None, hidden: bool = False) -> int:
        number = self._number(thread)
        if number is None:
            return 0
        where, values = self._within(number, bounds)
        if role is not None:
            where += " AND e.role = ?"
            values.append(role)
        if hidden:
            where += " AND e.flags & 2"
        sql = f"SELECT count(*) FROM entries e WHERE {where} AND NOT e.flags & 9"
        return self._c.execute(sql, values).fetchone()[0]

    def list_adopted_messages(self, thread: str) -> list[tuple[Ref, int]]:
        number = self._number(thread)
        if number is None:
            return []
        sql = "SELECT message, min(since) FROM entries WHERE thread = ? AND strayed = 1 AND message >> 32 <> ? GROUP BY message"
        return [(self._ref(key), since) for key, since in self._c.execute(sql, (number, number))]

    def spans(self, thread: str) -> Iterator[EntrySpan]:
        sql = f"SELECT {_ENTRY}, e.until FROM entries e WHERE e.thread = ? ORDER BY e.position, e.since"
        for row in self._c.execute(sql, (self._number(thread),)):
            yield EntrySpan(self._entry(row), row[8])

    # -- events ----------------------------------------------------------------------------------------------

    def _event(self, row: Sequence[Any]) -> Event:
        key, kind, actor, at, target, head, body, salt, seal, hash_, size = row
        ref = self._ref(key)
        try:
            about = None if target is None else self._ref(target)
            words = unpack_body(body, size)
            return Event(
                ref.thread, ref.seq, Kind(kind), actor, at, about, from_bytes(head), words, salt, seal, hash_
            )
        except (*DAMAGE, StoreCorrupt) as error:
            raise make_corrupt_error(f"event {ref.short}", error) from error

    def event(self, event: Ref) -> Event | None:
        row = self._c.execute(f"SELECT {_EVENT} FROM events WHERE key = ?", (self._key(event),)).fetchone()
        return None if row is None else self._event(row)

    def events(
        self,
        thread: str,
        first: int = 1,
        last: int | None = None,
        limit: int | None = None,
        *,
        newest_first: bool = False,
    ) -> list[Event]:
        number = self._number(thread)
        if number is None:
            return []
        order = "DESC" if newest_first else "ASC"
        sql = f"SELECT {_EVENT} FROM events WHERE key BETWEEN ? AND ? ORDER BY key {order} LIMIT ?"
        low, high = number << 32 | max(first, 0), number << 32 | (LAST if last is None else min(last, LAST))
        rows = self._c.execute(sql, (low, high, -1 if limit is None else limit)).fetchall()
        return [self._event(row) for row in rows]

    def events_about(self, message: Ref) -> list[Event]:
        own, key = self.event(message), self._key(message)
        rows = self._c.execute(
            f"SELECT {_EVENT} FROM events WHERE target = ? ORDER BY key", (key,)
        ).fetchall()
        return ([own] if own else []) + [self._event(row) for row in rows]

    def undoable(self, thread: str, actor: str, before: int | None = None, limit: int = 100) -> list[Event]:
        number = self._number(thread)
        if number is None:
            return []
        sql = (
            f"SELECT {_EVENT} FROM events WHERE undoable = 1 AND actor = ? AND key >= ? AND key < ? "
            "ORDER BY key DESC LIMIT ?"
        )
        low, high = number << 32, number << 32 | (LAST if before is None else before)
        return [self._event(row) for row in self._c.execute(sql, (actor, low, high, limit)).fetchall()]

    def others(self, thread: str, first: int = 1, last: int | None = None) -> list[Event]:
        return self._few(thread, first, last, placed=False)

    def list_placed_events(self, thread: str, first: int = 1, last: int | None = None) -> list[Event]:
        return self._few(thread, first, last, placed=True)

    def _few(self, thread: str, first: int, last: int | None, *, placed: bool) -> list[Event]:
        number = self._number(thread)
        if number is None:
            return []
        low, high = number << 32 | max(first, 0), number << 32 | (LAST if last is None else min(last, LAST))
        sql = (
            f"SELECT {_EVENT} FROM events INDEXED BY events_others WHERE {_FEW_EVENTS} AND key BETWEEN ? AND ? "
            f"AND kind {'=' if placed else '<>'} 'placed' ORDER BY key"
        )
        return [self._event(row) for row in self._c.execute(sql, (low, high)).fetchall()]

    def read_spoken(self, revisions: Sequence[Ref]) -> dict[Ref, RevisionBody]:
        keys = self._keys(revisions)
        sql = f"SELECT v.key, {_SPOKEN} FROM events v WHERE v.key IN (…)"
        got = {keys[row[0]]: _build_spoken(row[1:]) for row in self._many(sql, list(keys))}
        return {ref: got[ref] for ref in revisions if ref in got}

    # -- search ----------------------------------------------------------------------------------------------

    def search(self, query: str, wanted: SearchFilter, limit: int) -> list[RawHit]:
        if self._complete and waiting(self._c):
            self._take_in_waiting()
        joins, where, values = filters(wanted, self._number)
        sql = (
            "SELECT i.event, best.score FROM (SELECT doc, score FROM (SELECT words.rowid AS doc, bm25(words) AS score FROM words"
            f"{joins} WHERE words MATCH ?{where} ORDER BY words.rowid DESC LIMIT {RANKED}) ORDER BY score, doc DESC LIMIT ?) best "
            "JOIN indexed i ON i.doc = best.doc ORDER BY best.score, best.doc DESC"
        )
        hits = self._c.execute(sql, (query, *values, min(limit, RANKED))).fetchall()
        out: list[RawHit] = []
        for key, score in hits:
            row = self._c.execute("SELECT target, role, said FROM events WHERE key = ?", (key,)).fetchone()
            if row is not None:  # else the index is damaged, which verification reports
                target, role, said = row
                out.append(RawHit(self._ref(key), self._ref(target or key), role, said, -score))
        return out

    def words_wait(self) -> bool:
        """Return True if text is waiting to be indexed."""
        return waiting(self._c)

    def _take_in_waiting(self) -> None:
        """Raise `PendingWords`: only a writer can index them, so the store does and starts this read again."""
        raise PendingWords

    def read_index_tokens(self, revision: Ref) -> str | None:
        sql = (
            "SELECT v.doc, i.recipe, v.body, v.unpacked FROM events v LEFT JOIN indexed i ON i.doc = v.doc AND i.event = v.key "
            "WHERE v.key = ? AND (v.doc = 0 OR i.doc IS NOT NULL)"
        )
        row = self._c.execute(sql, (self._key(revision),)).fetchone()
        if row is None:
            return None
        doc, made_by, body, size = row
        words = words_of(body, size) if doc == WAITING or made_by == recipe() else None
        return held_words(self._c, doc) if words is None else words

    # -- the rest --------------------------------------------------------------------------------------------

    def blob(self, digest: str) -> bytes | None:
        row = self._c.execute("SELECT data FROM blobs WHERE digest = ?", (plain(digest),)).fetchone()
        return None if row is None else row[0]

    def blobs(self) -> Iterable[str]:
        return [row[0] for row in self._c.execute("SELECT CAST(digest AS TEXT) FROM blobs ORDER BY digest")]

    def blob_users(self, digest: str) -> list[Ref]:
        sql = "SELECT event FROM blob_users WHERE digest = ? ORDER BY event"
        return [self._ref(row[0]) for row in self._c.execute(sql, (plain(digest),)).fetchall()]

    def origin(self, key: bytes) -> str | None:
        row = self._c.execute("SELECT thread FROM origins WHERE key = ?", (key,)).fetchone()
        return None if row is None else row[0]

    def tokens(self, revisions: Sequence[Ref], tokenizer: str) -> dict[Ref, int]:
        keys = self._keys(revisions)
        sql = "SELECT event, count FROM tokens WHERE tokenizer = ? AND event IN (…)"
        got = {keys[key]: count for key, count in self._many(sql, list(keys), plain(tokenizer))}
        return {ref: got[ref] for ref in revisions if ref in got}

    def turn_state(self, thread: str, openings: Sequence[Ref]) -> dict[Ref, tuple[str, str]]:
        number, out = self._number(thread), cast("dict[Ref, tuple[str, str]]", {})
        for ref in openings:
            sql = "SELECT version, processed_at FROM turn_states WHERE thread = ? AND opening = ?"
            row = self._c.execute(sql, (number, self._key(ref))).fetchone()
            if row is not None:
                out[ref] = (row[0], row[1])
        return out

    def meta(self, key: str) -> str | None:
        row = self._c.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return None if row is None else row[0]

    def scrub_due(self) -> bool:
        return read_note(self._c) is not None

    def stats(self) -> Mapping[str, int]:
        out: dict[str, int] = {}
        for name, sql in _STATS.items():
            out[name] = self._c.execute(sql).fetchone()[0] or 0
        return out

    def integrity(self) -> list[str]:
        return faults_found(self._c, self._another)


_STATS = {
    "threads": "SELECT count(*) FROM threads",
    "events": "SELECT count(*) FROM events",
    "messages": "SELECT sum(messages) FROM threads",
    "turns": "SELECT sum(turns) FROM threads",
    "revisions": "SELECT count(*) FROM events WHERE digest IS NOT NULL",
    "blobs": "SELECT count(*) FROM blobs",
    "blob_bytes": "SELECT sum(length(data)) FROM blobs",
    "indexed": "SELECT count(*) FROM words_docsize",
    "artefacts": "SELECT count(*) FROM made",
    "replies": "SELECT count(*) FROM replies",
    "vectors": "SELECT count(*) FROM signs",
    "charges": "SELECT count(*) FROM charges",
    "bytes": "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()",
}


def _build_spoken(row: Sequence[Any]) -> RevisionBody:
    body, digest, said, actor, size = row
    return RevisionBody(unpack_body(body, size), digest, said, actor)
