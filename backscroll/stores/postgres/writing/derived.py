"""Write derived data, and erase it with its sources. The writing half of `derived` and `accounts`.

Data made from text that has been forgotten meanwhile is not stored: its writer started earlier and does not know. So the
source events are locked (FOR SHARE) until it is stored; a forget waits for that, and then finds it.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence

from backscroll.errors import NotFound
from backscroll.record.derived import Artefact, Charge, Lesson, RecipeReply, SummaryNode, TurnMark
from backscroll.stores.columns import plain
from backscroll.stores.ledger import CHARGE, columns_of
from backscroll.stores.nearness import check_vector
from backscroll.stores.postgres.names import EACH, KEYS, Roots
from backscroll.stores.postgres.reading.derived import BEHIND
from backscroll.stores.postgres.reading.rows import PostgresReader
from backscroll.stores.postgres.schema import SCRUB_WORDS
from backscroll.stores.postgres.session import PostgresSession
from backscroll.vocab.ids import Ref
from backscroll.vocab.values.moment import microseconds

_TRIED = 32  # threads that a worker tries to claim before it queries again
_KEYED = "tenant = %s AND root = %s AND thread = %s"


class PostgresDerivedWriter(PostgresReader):
    """Writes derived data through one session."""

    def __init__(self, session: PostgresSession, tenant: str, roots: Roots, halfvec: int) -> None:
        super().__init__(session, tenant, roots, halfvec)
        self._due: set[str] = set()

    def _home(self, thread: str) -> str:
        """Return the root of a thread; raise if it does not exist."""
        root = self._root(thread)
        if root is None:
            raise NotFound(f"thread {thread} not found", hint="run `backscroll threads` to list threads")
        return root

    def _require_root(self, ref: Ref) -> str:
        """Return the root of a message or revision; raise if its thread does not exist."""
        root = self._root(ref.thread)
        if root is None:
            raise NotFound(
                f"message {ref.short} not found in thread {ref.thread[:8]}",
                hint="run `backscroll show` to list messages",
            )
        return root

    # -- artefacts and replies -------------------------------------------------------------------------------

    def _standing(self, sources: Iterable[Ref]) -> set[Ref]:
        """Return the sources that still have text, locked until the transaction ends."""
        for ref in sources:
            self._require_root(ref)
        sql = (
            f"SELECT k.thread, k.seq FROM {KEYS} CROSS JOIN LATERAL (SELECT 1 FROM backscroll_events v WHERE v.tenant = %s "
            f"AND v.root = %s AND v.thread = k.thread AND v.seq = k.seq AND v.body IS NOT NULL {EACH} FOR SHARE) v"
        )
        return set(self._looked_up(sql, sorted(set(sources)), lambda _: True))

    def make(self, artefacts: Iterable[Artefact]) -> None:
        all_ = sorted(artefacts, key=lambda made: made.key)  # in a fixed order, or two writers would deadlock
        there = self._standing([ref for made in all_ for ref in made.sources])
        for made in all_:
            self._home(made.thread)
            if there.issuperset(made.sources):
                values = (self._tenant, made.key, made.thread, plain(made.recipe), made.at, made.body)
                self._keep("made", "tenant, key, thread, recipe, at, body", values, made.sources)

    def keep_reply(self, reply: RecipeReply) -> None:
        self._home(reply.thread)
        if self._standing(reply.sources).issuperset(reply.sources):
            names = (plain(reply.recipe), plain(reply.model))
            values = (self._tenant, reply.key, reply.thread, *names, reply.at, reply.body)
            self._keep("replies", "tenant, key, thread, recipe, model, at, body", values, reply.sources)

    def _keep(self, table: str, columns: str, values: tuple[object, ...], sources: Sequence[Ref]) -> None:
        """Store a row with its sources, and a reference from each source; an existing row stays."""
        arrays = (
            [self._require_root(ref) for ref in sources],
            [ref.thread for ref in sources],
            [ref.seq for ref in sources],
        )
        marks = ", ".join(["%s"] * len(values))
        self._s.tell(
            f"WITH fresh AS (INSERT INTO backscroll_{table} ({columns}, source_roots, source_threads, source_seqs) "
            f"VALUES ({marks}, %s::uuid[], %s::uuid[], %s::bigint[]) ON CONFLICT DO NOTHING "
            "RETURNING tenant, key, source_roots, source_threads, source_seqs) "
            f"INSERT INTO backscroll_{table}_from (tenant, root, thread, seq, key) "
            "SELECT DISTINCT f.tenant, s.root, s.thread, s.seq, f.key FROM fresh f, "
            "unnest(f.source_roots, f.source_threads, f.source_seqs) AS s (root, thread, seq)",
            *values,
            *arrays,
        )

    # -- vectors ---------------------------------------------------------------------------------------------

    def set_vectors(self, encoder: str, vectors: Iterable[tuple[Ref, bytes]]) -> None:
        name = plain(encoder)
        size = self._size(encoder)
        sql = (
            "INSERT INTO backscroll_vectors (tenant, root, thread, seq, said_us, encoder, role, half) "
            "SELECT v.tenant, v.root, v.thread, v.seq, v.said_us, %s, v.role, %s FROM backscroll_events v "
            "WHERE v.tenant = %s AND v.root = %s AND v.thread = %s AND v.seq = %s AND v.body IS NOT NULL FOR SHARE "
            "ON CONFLICT (tenant, root, thread, seq, encoder) DO UPDATE SET half = excluded.half"
        )
        for ref, vector in sorted(dict(vectors).items()):
            check_vector(vector, size)
            if size is None:
                new = "INSERT INTO backscroll_encoders (tenant, name, size) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING"
                self._s.tell(new, self._tenant, name, len(vector))
                size = self._size(encoder)
                check_vector(vector, size)
            self._s.tell(sql, name, self._half(vector), self._tenant, self._require_root(ref), *ref)

    # -- the summary tree ------------------------------------------------------------------------------------

    def set_node(self, node: SummaryNode) -> None:
        self._require_root(node.opening)
        values = (self._tenant, self._home(node.thread), node.thread, node.level, *node.opening)
        self._s.tell(
            "INSERT INTO backscroll_nodes (tenant, root, thread, level, opening_thread, opening_seq, position, ends, "
            "version, key, turns, messages) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s) "
            "ON CONFLICT (tenant, root, thread, level, opening_thread, opening_seq) DO UPDATE SET "
            "position = excluded.position, ends = excluded.ends, version = excluded.version, key = excluded.key, "
            "turns = excluded.turns, messages = excluded.messages",
            *values,
            *(node.position, node.end, node.version, node.key, node.turns, node.messages),
        )

    def drop_node(self, thread: str, level: int, opening: Ref) -> None:
        root = self._root(thread)
        if root is not None and self._root(opening.thread) is not None:
            sql = (
                f"DELETE FROM backscroll_nodes WHERE {_KEYED} AND level = %s "
                "AND opening_thread = %s AND opening_seq = %s"
            )
            self._s.tell(sql, self._tenant, root, thread, level, *opening)

    # -- turns under analysis --------------------------------------------------------------------------------

    def set_turn_marks(self, marks: Iterable[TurnMark]) -> None:
        for mark in marks:
            self._require_root(mark.opening)
            self._s.tell(
                "INSERT INTO backscroll_turn_marks (tenant, root, thread, rule, opening_thread, opening_seq, position, "
                "due, pinned, gone, ends, version, key, source_threads, source_seqs) "
                "VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s::uuid[], %s::bigint[]) "
                "ON CONFLICT (tenant, root, thread, rule, opening_thread, opening_seq) DO UPDATE SET "
                "position = excluded.position, due = excluded.due, pinned = excluded.pinned, gone = excluded.gone, "
                "ends = excluded.ends, version = excluded.version, key = excluded.key, "
                "source_threads = excluded.source_threads, source_seqs = excluded.source_seqs",
                *(self._tenant, self._home(mark.thread), mark.thread, plain(mark.rule), *mark.opening),
                *(mark.position, mark.due, mark.pinned, mark.gone, mark.ends, mark.version, mark.key),
                *([ref.thread for ref in mark.sources], [ref.seq for ref in mark.sources]),
            )

    def drop_turn_marks(self, thread: str, rule: str, openings: Sequence[Ref] | None = None) -> None:
        root = self._root(thread)
        if root is None:
            return
        sql = f"DELETE FROM backscroll_turn_marks WHERE {_KEYED} AND rule = %s"
        values = (self._tenant, root, thread, plain(rule))
        if openings is None:
            self._s.tell(sql, *values)
        for opening in openings or ():
            self._s.tell(f"{sql} AND opening_thread = %s AND opening_seq = %s", *values, *opening)

    # -- progress --------------------------------------------------------------------------------------------

    def claim(self, recipe: str, worker: str, now_us: int, until_us: int) -> tuple[str, int] | None:
        name, lease = plain(recipe), (plain(worker), until_us)
        look = BEHIND.format(
            columns="t.root, t.id, t.head, p.seen IS NOT NULL", where=" AND coalesce(p.until_us, 0) <= %s"
        )
        hold = (
            f"SELECT seen FROM backscroll_progress WHERE {_KEYED} AND recipe = %s AND until_us <= %s AND seen < %s "
            "FOR UPDATE SKIP LOCKED"
        )
        take = f"UPDATE backscroll_progress SET worker = %s, until_us = %s, afresh = false WHERE {_KEYED} AND recipe = %s"
        begin = (
            "INSERT INTO backscroll_progress (tenant, root, thread, recipe, worker, until_us) "
            "VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT DO NOTHING"
        )
        while rows := self._s.ask(look, name, self._tenant, now_us, _TRIED):
            for root, thread, head, known in rows:
                key = (self._tenant, root, thread, name)
                if not known and self._s.do(begin, *key, *lease):
                    return thread, 0
                row = self._s.ask_one(hold, *key, now_us, head) if known else None
                if row is not None:
                    self._s.tell(take, *lease, *key)
                    return thread, row[0]
            if len(rows) < _TRIED:
                return None  # other workers are claiming each of these right now
        return None

    def set_progress(self, thread: str, recipe: str, seen: int) -> None:
        # After a forget the work starts over, whatever a caller that started earlier had seen.
        self._s.tell(
            "INSERT INTO backscroll_progress AS p (tenant, root, thread, recipe, seen) VALUES (%s, %s, %s, %s, %s) "
            "ON CONFLICT (tenant, root, thread, recipe) DO UPDATE SET "
            "seen = CASE WHEN p.afresh THEN 0 ELSE excluded.seen END, worker = '', until_us = 0, afresh = false",
            *(self._tenant, self._home(thread), thread, plain(recipe), seen),
        )

    # -- accounts --------------------------------------------------------------------------------------------

    def charge(self, charge: Charge) -> None:
        values = columns_of(charge)
        marks = ", ".join(["%s"] * (len(values) + 1))
        sql = f"INSERT INTO backscroll_charges (tenant, {CHARGE}) VALUES ({marks}) ON CONFLICT DO NOTHING"
        self._s.tell(sql, self._tenant, *values)

    def settle(self, charge: Charge) -> None:
        values = columns_of(charge)
        marks = ", ".join(["%s"] * (len(values) + 1))
        taken = ", ".join(f"{name} = excluded.{name}" for name in CHARGE.split(", ") if name != "id")
        sql = f"INSERT INTO backscroll_charges (tenant, {CHARGE}) VALUES ({marks}) ON CONFLICT (tenant, id) DO UPDATE SET {taken}"
        self._s.tell(sql, self._tenant, *values)

    def learn(self, lesson: Lesson) -> None:
        self._s.tell(
            "INSERT INTO backscroll_lessons (tenant, thread, at_us, feature, at, amount) VALUES (%s, %s, %s, %s, %s, %s) "
            "ON CONFLICT (tenant, thread, at_us, feature) DO UPDATE SET at = excluded.at, amount = excluded.amount",
            *(self._tenant, plain(lesson.thread), microseconds(lesson.at)),
            *(plain(lesson.feature), lesson.at, lesson.amount),
        )

    def unlearn(self, thread: str | None = None) -> int:
        sql = "DELETE FROM backscroll_lessons WHERE tenant = %s"
        if thread is None:
            return self._s.do(sql, self._tenant)
        return self._s.do(f"{sql} AND thread = %s", self._tenant, plain(thread))

    def keep_receipt(self, thread: str, at: str, body: bytes, keep: int) -> None:
        key = (self._tenant, self._home(thread), thread)
        number = f"(SELECT coalesce(max(no), 0) FROM backscroll_receipts WHERE {_KEYED})"
        insert = (
            "INSERT INTO backscroll_receipts (tenant, root, thread, no, at, body) "
            f"VALUES (%s, %s, %s, {number} + 1, %s, %s) ON CONFLICT DO NOTHING"
        )
        while not self._s.do(insert, *key, *key, at, body):
            pass  # another writer took the number between reading and writing
        sql = f"DELETE FROM backscroll_receipts WHERE {_KEYED} AND no <= {number} - %s"
        self._s.tell(sql, *key, *key, max(0, keep))

    # -- erasing ---------------------------------------------------------------------------------------------

    def unmake(self, revisions: Sequence[Ref], threads: Sequence[str]) -> int:
        gone = 0
        for root, refs in self._by_root(dict.fromkeys(revisions)).items():
            for sql, values in self._unmaking(root, refs):
                gone += self._s.ask(sql, *values)[0][0]
        for thread in dict.fromkeys(threads):
            root = self._root(thread)
            if root is None:
                continue
            for table in ("made", "replies"):
                sql = f"DELETE FROM backscroll_{table} WHERE tenant = %s AND thread = %s AND source_seqs = '{{}}'"
                gone += self._s.do(sql, self._tenant, thread)
            for table in ("nodes", "receipts", "turn_marks"):
                gone += self._s.do(
                    f"DELETE FROM backscroll_{table} WHERE {_KEYED}", self._tenant, root, thread
                )
            sql = f"UPDATE backscroll_progress SET seen = 0, afresh = worker <> '' WHERE {_KEYED}"
            self._s.tell(sql, self._tenant, root, thread)
        if gone or revisions:
            self._scrub_later(SCRUB_WORDS)
        return gone

    def _unmaking(self, root: str, refs: Sequence[Ref]) -> list[tuple[str, tuple[object, ...]]]:
        """Return statements that delete what was made from revisions of one family; each returns its count."""
        keys = ([ref.thread for ref in refs], [ref.seq for ref in refs])
        own = "d.tenant = %s AND d.root = %s AND d.thread = k.thread AND d.seq = k.seq"
        out: list[tuple[str, tuple[object, ...]]] = []
        for table in ("made", "replies"):
            # Its references at other sources are deleted too; its row names them all.
            sql = (
                f"WITH doomed AS (SELECT DISTINCT d.key FROM {KEYS} JOIN backscroll_{table}_from d ON {own}), "
                f"dead AS (DELETE FROM backscroll_{table} m USING doomed WHERE m.tenant = %s AND m.key = doomed.key "
                "RETURNING m.key, m.source_roots, m.source_threads, m.source_seqs), "
                f"rest AS (DELETE FROM backscroll_{table}_from f USING (SELECT d.key, s.* FROM dead d, "
                "unnest(d.source_roots, d.source_threads, d.source_seqs) AS s (root, thread, seq)) s "
                "WHERE f.tenant = %s AND f.root = s.root AND f.thread = s.thread AND f.seq = s.seq AND f.key = s.key) "
                "SELECT count(*) FROM dead"
            )
            out.append((sql, (*keys, self._tenant, root, self._tenant, self._tenant)))
        for table in ("vectors", "tokens"):
            sql = f"WITH dead AS (DELETE FROM backscroll_{table} d USING {KEYS} WHERE {own} RETURNING 1) SELECT count(*) FROM dead"
            out.append((sql, (*keys, self._tenant, root)))
        return out

    def _scrub_later(self, what: str) -> None:
        if what not in self._due:
            self._due.add(what)
            self.set_meta(what, secrets.token_hex(8))

    def set_meta(self, key: str, value: str) -> None:
        sql = (
            "INSERT INTO backscroll_meta (tenant, key, value) VALUES (%s, %s, %s) "
            "ON CONFLICT (tenant, key) DO UPDATE SET value = excluded.value"
        )
        self._s.tell(sql, self._tenant, key, value)
