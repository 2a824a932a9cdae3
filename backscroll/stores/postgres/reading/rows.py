"""Read rows of the PostgreSQL store from one snapshot. Implements `record.ports.Reader`; `writing/rows` adds writing.

Every statement names tenant and root, so that a sharded server sends it to one shard. The root of a thread never changes and
is cached.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from backscroll.record.history import Entry, EntrySpan
from backscroll.record.order import at_end
from backscroll.record.ports import Bounds, RawHit, RevisionBody, SearchFilter, ThreadState
from backscroll.stores.columns import plain
from backscroll.stores.postgres.names import EACH, KEYS
from backscroll.stores.postgres.reading.accounts import PostgresAccountReader
from backscroll.stores.postgres.reading.check import STATS, faults_found
from backscroll.stores.postgres.reading.columns import (
    ENTRY,
    EVENT,
    SPOKEN,
    THREAD,
    entry_of,
    event_of,
    readable,
    thread_of,
)
from backscroll.stores.postgres.reading.search import find_hits
from backscroll.stores.postgres.reading.text import hour
from backscroll.stores.postgres.schema import SCRUB_BYTES, SCRUB_WORDS
from backscroll.vocab.event import Event
from backscroll.vocab.ids import THREAD_ID, Ref
from backscroll.vocab.values.moment import microseconds

_OWN = "e.tenant = %s AND e.root = %s AND e.thread = %s"
_LOG = "v.tenant = %s AND v.root = %s AND v.thread = %s"
_SPANS = 4096
_LAST = (1 << 63) - 1


class PostgresReader(PostgresAccountReader):
    """Reads through one session."""

    # -- threads ---------------------------------------------------------------------------------------------

    def thread(self, thread: str) -> ThreadState | None:
        root = self._root(thread)
        if root is None:
            return None
        sql = f"SELECT {THREAD} FROM backscroll_threads WHERE tenant = %s AND root = %s AND id = %s"
        row = self._s.ask_one(sql, self._tenant, root, thread)
        return None if row is None else thread_of(row)

    def threads(
        self,
        *,
        project: str | None = None,
        user: str | None = None,
        kind: str | None = None,
        after: tuple[str, str] | None = None,
        limit: int = 100,
    ) -> list[ThreadState]:
        where, values = self._belonging(project, user)
        if kind is not None:
            where.append("kind = %s")
            values.append(plain(kind))
        if after is not None:
            us = microseconds(after[0])
            where.append("active <= %s AND (updated_us, id) < (%s, %s::uuid)")
            values += [hour(us), us, after[1]]
        sql = (
            f"SELECT {THREAD} FROM backscroll_threads WHERE {' AND '.join(where)} "
            "ORDER BY active DESC, updated_us DESC, id DESC LIMIT %s"
        )
        wanted = max(0, limit)
        while True:
            rows = self._s.ask(sql, *values, wanted)
            found = list(readable(rows))
            if len(found) >= limit or len(rows) < wanted:
                return found[: max(0, limit)]
            wanted = 2 * wanted  # some rows are damaged

    def _belonging(self, project: str | None, user: str | None) -> tuple[list[str], list[object]]:
        where, values = ["tenant = %s"], list[object]([self._tenant])
        if project is not None:
            where.append("left(project, 100) = left(%s, 100) AND project = %s")
            values += [plain(project), plain(project)]
        if user is not None:
            where.append("person = %s")
            values.append(plain(user))
            if plain(user):
                where.append("person <> '' AND left(person, 100) = left(%s, 100)")
                values.append(plain(user))
        return where, values

    def heads(
        self, *, project: str | None = None, user: str | None = None, limit: int = 100
    ) -> list[tuple[str, int]]:
        where, values = self._belonging(project, user)
        sql = (
            f"SELECT id, head FROM backscroll_threads WHERE {' AND '.join(where)} "
            "ORDER BY active DESC, updated_us DESC, id DESC LIMIT %s"
        )
        return [(str(name).replace("-", ""), head) for name, head in self._s.ask(sql, *values, max(0, limit))]

    def find_by_key(self, key: str) -> ThreadState | None:
        sql = (
            f"SELECT {THREAD} FROM backscroll_threads WHERE tenant = %s AND own_key <> '' AND own_key = %s "
            "AND left(own_key, 100) = left(%s, 100) ORDER BY created_at, id"
        )
        return next(iter(readable(self._s.ask(sql, self._tenant, plain(key), plain(key)))), None)

    def threads_like(self, prefix: str, limit: int = 10) -> list[str]:
        if not THREAD_ID.fullmatch(prefix.ljust(32, "0")):
            return []
        sql = (
            "SELECT thread FROM backscroll_directory WHERE tenant = %s AND thread BETWEEN %s::uuid AND %s::uuid "
            "ORDER BY thread LIMIT %s"
        )
        rows = self._s.ask(sql, self._tenant, prefix.ljust(32, "0"), prefix.ljust(32, "f"), max(0, limit))
        return [row[0] for row in rows]

    def unreadable(self) -> list[str]:
        rows = self._s.ask(
            f"SELECT {THREAD} FROM backscroll_threads WHERE tenant = %s ORDER BY id", self._tenant
        )
        return [row[0] for row in rows if not list(readable([row]))]

    def family(self, root: str) -> list[ThreadState]:
        if not THREAD_ID.fullmatch(root):
            return []
        sql = f"SELECT {THREAD} FROM backscroll_threads WHERE tenant = %s AND root = %s ORDER BY born, id"
        return list(readable(self._s.ask(sql, self._tenant, root)))

    # -- entries ---------------------------------------------------------------------------------------------

    def entry(self, thread: str, message: Ref, as_of: int | None = None) -> Entry | None:
        root = self._root(thread)
        if root is None or not THREAD_ID.fullmatch(message.thread):
            return None
        when = "e.until IS NULL" if as_of is None else "e.since <= %s"
        what = (self._tenant, root, thread, message.thread, message.seq, *(() if as_of is None else (as_of,)))
        one = (
            f"SELECT {ENTRY} FROM backscroll_entries e WHERE {_OWN} AND e.message_thread = %s "
            f"AND e.message_seq = %s AND {when}"
        )
        newest = "ORDER BY e.since DESC LIMIT 1"
        # A message that never moved is at the position of its own number; only the others need an index.
        sql = (
            f"({one} AND e.position = %s {newest}) UNION ALL ({one} AND e.strayed {newest}) "
            "ORDER BY since DESC LIMIT 1"
        )
        row = self._s.ask_one(sql, *what, at_end(message.seq), *what)
        return None if row is None else entry_of(row)

    def _within(self, root: str, thread: str, bounds: Bounds) -> tuple[str, list[object]]:
        where = [_OWN, "e.since <= %s", "(e.until IS NULL OR e.until > %s)"]
        values: list[object] = [self._tenant, root, thread, bounds.as_of, bounds.as_of]
        for sign, limit in ((">", bounds.after), ("<", bounds.before), ("<=", bounds.upto)):
            if limit is not None:
                where.append(f"e.position {sign} %s")
                values.append(limit)
        return " AND ".join(where), values

    def page(
        self, thread: str, bounds: Bounds, limit: int, *, newest_first: bool = False, gone: bool = False
    ) -> list[tuple[Entry, RevisionBody]]:
        root = self._root(thread)
        if root is None:
            return []
        where, values = self._within(root, thread, bounds)
        if not gone:
            where += " AND e.flags & 9 = 0 AND v.body IS NOT NULL"
        order = "DESC" if newest_first else "ASC"
        sql = (
            f"SELECT {ENTRY}, {SPOKEN} FROM backscroll_entries e CROSS JOIN LATERAL (SELECT * FROM backscroll_events v "
            "WHERE v.tenant = e.tenant AND v.root = e.root AND v.thread = e.revision_thread AND v.seq = e.revision_seq "
            f"{EACH}) v WHERE {where} ORDER BY e.position {order} LIMIT %s"
        )
        rows = self._s.ask(sql, *values, max(0, limit))
        return [(entry_of(row), RevisionBody(*row[10:])) for row in rows]

    def list_marked_entries(self, thread: str, bounds: Bounds) -> list[tuple[Entry, RevisionBody]]:
        root = self._root(thread)
        if root is None:
            return []
        where, values = self._within(root, thread, bounds)
        sql = (
            f"SELECT {ENTRY}, {SPOKEN} FROM backscroll_entries e CROSS JOIN LATERAL (SELECT * FROM backscroll_events v "
            "WHERE v.tenant = e.tenant AND v.root = e.root AND v.thread = e.revision_thread AND v.seq = e.revision_seq "
            f"{EACH}) v WHERE {where} AND (e.role = 'system' OR e.flags & 4 <> 0) AND e.flags & 9 = 0 "
            "AND v.body IS NOT NULL ORDER BY e.position"
        )
        return [(entry_of(row), RevisionBody(*row[10:])) for row in self._s.ask(sql, *values)]

    def count(self, thread: str, bounds: Bounds, *, role: str | None = None, hidden: bool = False) -> int:
        root = self._root(thread)
        if root is None:
            return 0
        where, values = self._within(root, thread, bounds)
        if role is not None:
            where += " AND e.role = %s"
            values.append(plain(role))
        if hidden:
            where += " AND e.flags & 2 <> 0"
        sql = f"SELECT count(*) FROM backscroll_entries e WHERE {where} AND e.flags & 9 = 0"
        return self._s.ask(sql, *values)[0][0]

    def list_adopted_messages(self, thread: str) -> list[tuple[Ref, int]]:
        root = self._root(thread)
        if root is None:
            return []
        sql = (
            f"SELECT e.message_thread, e.message_seq, min(e.since) FROM backscroll_entries e WHERE {_OWN} "
            "AND e.strayed AND e.message_thread <> e.thread GROUP BY 1, 2 ORDER BY 1, 2"
        )
        return [(Ref(name, seq), since) for name, seq, since in self._s.ask(sql, self._tenant, root, thread)]

    def spans(self, thread: str) -> Iterator[EntrySpan]:
        root = self._root(thread)
        if root is None:
            return
        edge: tuple[bytes, int] = (b"", -1)
        sql = (
            f"SELECT {ENTRY}, e.until FROM backscroll_entries e WHERE {_OWN} AND (e.position, e.since) > (%s, %s) "
            "ORDER BY e.position, e.since LIMIT %s"
        )
        while rows := self._s.ask(sql, self._tenant, root, thread, *edge, _SPANS):
            for row in rows:
                yield EntrySpan(entry_of(row), row[10])
            last = rows[-1]
            edge = (last[2], last[9])

    # -- events ----------------------------------------------------------------------------------------------

    def event(self, event: Ref) -> Event | None:
        root = self._root(event.thread)
        if root is None:
            return None
        sql = f"SELECT {EVENT} FROM backscroll_events v WHERE {_LOG} AND v.seq = %s"
        row = self._s.ask_one(sql, self._tenant, root, event.thread, event.seq)
        return None if row is None else event_of(row)

    def events(
        self,
        thread: str,
        first: int = 1,
        last: int | None = None,
        limit: int | None = None,
        *,
        newest_first: bool = False,
    ) -> list[Event]:
        root = self._root(thread)
        if root is None:
            return []
        order = "DESC" if newest_first else "ASC"
        sql = (
            f"SELECT {EVENT} FROM backscroll_events v WHERE {_LOG} AND v.seq BETWEEN %s AND %s "
            f"ORDER BY v.seq {order} LIMIT %s::bigint"
        )
        span = (max(first, 0), _LAST if last is None else min(last, _LAST))
        rows = self._s.ask(
            sql, self._tenant, root, thread, *span, None if limit is None or limit < 0 else limit
        )
        return [event_of(row) for row in rows]

    def events_about(self, message: Ref) -> list[Event]:
        root = self._root(message.thread)
        if root is None:
            return []
        sql = (
            f"SELECT {EVENT} FROM backscroll_events v "
            "JOIN backscroll_threads t ON t.tenant = v.tenant AND t.root = v.root AND t.id = v.thread "
            "WHERE v.tenant = %s AND v.root = %s AND v.target_thread = %s AND v.target_seq = %s "
            "ORDER BY t.born, v.thread, v.seq"
        )
        own = self.event(message)
        rows = self._s.ask(sql, self._tenant, root, message.thread, message.seq)
        return ([own] if own else []) + [event_of(row) for row in rows]

    def undoable(self, thread: str, actor: str, before: int | None = None, limit: int = 100) -> list[Event]:
        root = self._root(thread)
        if root is None:
            return []
        sql = (
            f"SELECT {EVENT} FROM backscroll_events v WHERE {_LOG} AND v.undoable AND v.actor = %s AND v.seq < %s "
            "ORDER BY v.seq DESC LIMIT %s"
        )
        end = _LAST if before is None else before
        rows = self._s.ask(sql, self._tenant, root, thread, plain(actor), end, max(0, limit))
        return [event_of(row) for row in rows]

    def others(self, thread: str, first: int = 1, last: int | None = None) -> list[Event]:
        return self._few(thread, first, last, placed=False)

    def list_placed_events(self, thread: str, first: int = 1, last: int | None = None) -> list[Event]:
        return self._few(thread, first, last, placed=True)

    def _few(self, thread: str, first: int, last: int | None, *, placed: bool) -> list[Event]:
        root = self._root(thread)
        if root is None:
            return []
        sql = (
            f"SELECT {EVENT} FROM backscroll_events v WHERE {_LOG} AND v.seq BETWEEN %s AND %s "
            f"AND v.kind NOT IN ('appended', 'aside') AND v.kind {'=' if placed else '<>'} 'placed' ORDER BY v.seq"
        )
        span = (max(first, 0), _LAST if last is None else min(last, _LAST))
        return [event_of(row) for row in self._s.ask(sql, self._tenant, root, thread, *span)]

    def read_spoken(self, revisions: Sequence[Ref]) -> dict[Ref, RevisionBody]:
        sql = (
            f"SELECT v.thread, v.seq, {SPOKEN} FROM {KEYS} CROSS JOIN LATERAL (SELECT * FROM backscroll_events v "
            f"WHERE v.tenant = %s AND v.root = %s AND v.thread = k.thread AND v.seq = k.seq {EACH}) v"
        )
        return self._looked_up(sql, revisions, lambda row: RevisionBody(*row))

    # -- search ----------------------------------------------------------------------------------------------

    def search(self, query: str, wanted: SearchFilter, limit: int) -> list[RawHit]:
        return find_hits(self._s, self._tenant, query, wanted, self._root, limit)

    def read_index_tokens(self, revision: Ref) -> str | None:
        root = self._root(revision.thread)
        if root is None:
            return None
        # Read back from the tsvector in order of position; the tenant's mark has none.
        sql = (
            "SELECT coalesce(btrim(w.spelled), (SELECT string_agg(u.lexeme, ' ' ORDER BY p.place) "
            "FROM unnest(w.words) AS u (lexeme, places, weights), unnest(u.places) AS p (place)), '') "
            "FROM backscroll_words w WHERE w.tenant = %s AND w.root = %s AND w.thread = %s AND w.seq = %s"
        )
        row = self._s.ask_one(sql, self._tenant, root, revision.thread, revision.seq)
        return None if row is None else row[0]

    # -- the rest --------------------------------------------------------------------------------------------

    def blob(self, digest: str) -> bytes | None:
        sql = "SELECT data FROM backscroll_blobs WHERE tenant = %s AND digest = %s"
        row = self._s.ask_one(sql, self._tenant, plain(digest))
        return None if row is None else row[0]

    def blobs(self) -> Iterable[str]:
        sql = "SELECT digest FROM backscroll_blobs WHERE tenant = %s ORDER BY digest"
        return [row[0] for row in self._s.ask(sql, self._tenant)]

    def blob_users(self, digest: str) -> list[Ref]:
        sql = "SELECT thread, seq FROM backscroll_blob_users WHERE tenant = %s AND digest = %s ORDER BY thread, seq"
        return [Ref(*row) for row in self._s.ask(sql, self._tenant, plain(digest))]

    def origin(self, key: bytes) -> str | None:
        sql = "SELECT thread FROM backscroll_origins WHERE tenant = %s AND key = %s"
        row = self._s.ask_one(sql, self._tenant, key)
        return None if row is None else row[0]

    def tokens(self, revisions: Sequence[Ref], tokenizer: str) -> dict[Ref, int]:
        sql = (
            f"SELECT n.thread, n.seq, n.count FROM {KEYS} CROSS JOIN LATERAL (SELECT * FROM backscroll_tokens n "
            "WHERE n.tenant = %s AND n.root = %s AND n.thread = k.thread AND n.seq = k.seq AND n.tokenizer = %s "
            f"{EACH}) n"
        )
        return self._looked_up(sql, revisions, lambda row: row[0], plain(tokenizer))

    def turn_state(self, thread: str, openings: Sequence[Ref]) -> dict[Ref, tuple[str, str]]:
        root = self._root(thread)
        if root is None or not openings:
            return {}
        sql = (
            f"SELECT n.opening_thread, n.opening_seq, n.version, n.processed_at FROM {KEYS} "
            "CROSS JOIN LATERAL (SELECT * FROM backscroll_turns n WHERE n.tenant = %s AND n.root = %s AND n.thread = %s "
            f"AND n.opening_thread = k.thread AND n.opening_seq = k.seq {EACH}) n"
        )
        names, numbers = [ref.thread for ref in openings], [ref.seq for ref in openings]
        rows = self._s.ask(sql, names, numbers, self._tenant, root, thread)
        got = {Ref(row[0], row[1]): (row[2], row[3]) for row in rows}
        return {ref: got[ref] for ref in openings if ref in got}

    def meta(self, key: str) -> str | None:
        sql = "SELECT value FROM backscroll_meta WHERE tenant = %s AND key = %s"
        row = self._s.ask_one(sql, self._tenant, key)
        return None if row is None else row[0]

    def scrub_due(self) -> bool:
        sql = "SELECT count(*) FROM backscroll_meta WHERE key = ANY(%s::text[])"
        return bool(self._s.ask(sql, [SCRUB_WORDS, SCRUB_BYTES])[0][0])

    def stats(self) -> Mapping[str, int]:
        return {
            name: int(self._s.ask(sql, *values(self._tenant))[0][0] or 0)
            for name, (sql, values) in STATS.items()
        }

    def integrity(self) -> list[str]:
        return faults_found(self._s, self._tenant)
