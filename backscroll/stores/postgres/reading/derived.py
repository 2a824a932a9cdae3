"""Read derived data: artefacts, replies, vectors, the summary tree, progress.

Implements these tables' part of `record.ports.Reader`; `writing/derived` adds the writing half. Vectors are compared by the
server if it has pgvector, else here, number by number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

from psycopg.adapt import Buffer, Dumper
from psycopg.pq import Format

from backscroll.record.derived import Artefact, RecipeReply, SummaryNode, TurnMark
from backscroll.record.ports import SearchFilter
from backscroll.stores.columns import plain
from backscroll.stores.nearness import check_vector, cosines, has_direction, round_score
from backscroll.stores.postgres.connection import Connection
from backscroll.stores.postgres.names import EACH, KEYS, PostgresNames, Roots
from backscroll.stores.postgres.reading.search import build_filter
from backscroll.stores.postgres.session import PostgresSession
from backscroll.vocab.ids import Ref

_COMPARED = 200  # minimum number of vectors whose text is looked up in the index
_READ = 8192  # vectors compared at a time if the server cannot compare them
_MADE = "key, recipe, thread, body, source_threads, source_seqs, at"
_REPLY = "key, recipe, thread, model, body, source_threads, source_seqs, at"
_MARK = "opening_thread, opening_seq, position, due, pinned, gone, ends, version, key, source_threads, source_seqs"
_NODE = "level, opening_thread, opening_seq, position, ends, version, key, turns, messages"
_NEAR = tuple[Ref, int, float]  # revision, time, score


class HalfVector(bytes):
    """A vector on its way to a server that has the type `halfvec`."""


class _HalfDumper(Dumper):
    """Encode a vector as pgvector reads it: count, padding, then the numbers, big-endian."""

    format = Format.BINARY

    def dump(self, obj: HalfVector) -> Buffer:
        turned = bytearray(len(obj))
        turned[0::2], turned[1::2] = obj[1::2], obj[0::2]
        return (len(obj) // 2).to_bytes(2, "big") + b"\0\0" + bytes(turned)


def register_vectors(connection: Connection, halfvec: int) -> Connection:
    """Register the vector type, by the server's type number, on a connection."""
    if connection.halfvec != halfvec:
        connection.halfvec = halfvec
        connection.adapters.register_dumper(HalfVector, type("HalfDumper", (_HalfDumper,), {"oid": halfvec}))
    return connection


def from_server(data: bytes) -> bytes:
    """Convert the output of `halfvec_send` to little-endian."""
    turned = bytearray(len(data) - 4)
    turned[0::2], turned[1::2] = data[5::2], data[4::2]
    return bytes(turned)


class PostgresDerivedReader(PostgresNames):
    """Reads derived data."""

    def __init__(self, session: PostgresSession, tenant: str, roots: Roots, halfvec: int) -> None:
        super().__init__(session, tenant, roots)
        self._halfvec = halfvec  # the server's number for the type of vectors; 0: they are plain bytes

    # -- artefacts and replies -------------------------------------------------------------------------------

    def read_artefacts(self, keys: Sequence[bytes]) -> dict[bytes, Artefact]:
        if not keys:
            return {}
        sql = f"SELECT {_MADE} FROM backscroll_made WHERE tenant = %s AND key = ANY(%s::bytea[])"
        rows = self._s.ask(sql, self._tenant, list(dict.fromkeys(keys)))
        return {
            key: Artefact(key, recipe, thread, body, _sources(threads, numbers), at)
            for key, recipe, thread, body, threads, numbers, at in rows
        }

    def reply(self, key: bytes) -> RecipeReply | None:
        sql = f"SELECT {_REPLY} FROM backscroll_replies WHERE tenant = %s AND key = %s"
        row = self._s.ask_one(sql, self._tenant, key)
        return None if row is None else _reply(row)

    def replies(self, thread: str) -> list[RecipeReply]:
        if self._root(thread) is None:
            return []
        sql = f'SELECT {_REPLY} FROM backscroll_replies WHERE tenant = %s AND thread = %s ORDER BY at COLLATE "C", key'
        return [_reply(row) for row in self._s.ask(sql, self._tenant, thread)]

    # -- vectors ---------------------------------------------------------------------------------------------

    def _size(self, encoder: str) -> int | None:
        """Return the bytes of an encoder's vectors."""
        sql = "SELECT size FROM backscroll_encoders WHERE tenant = %s AND name = %s"
        row = self._s.ask_one(sql, self._tenant, plain(encoder))
        return None if row is None else row[0]

    def vectors(self, revisions: Sequence[Ref], encoder: str) -> dict[Ref, bytes]:
        sql = (
            f"SELECT w.thread, w.seq, {self._sent} FROM {KEYS} CROSS JOIN LATERAL (SELECT * FROM backscroll_vectors w "
            "WHERE w.tenant = %s AND w.root = %s AND w.thread = k.thread AND w.seq = k.seq AND w.encoder = %s "
            f"{EACH}) w"
        )
        return self._looked_up(sql, revisions, lambda row: self._read(row[0]), plain(encoder))

    def _half(self, vector: bytes) -> bytes:
        """Return a vector in the server's type."""
        return HalfVector(vector) if self._halfvec else vector

    @property
    def _sent(self) -> str:
        return "halfvec_send(w.half)" if self._halfvec else "w.half"

    def _read(self, data: bytes) -> bytes:
        return from_server(data) if self._halfvec else data

    def nearest(
        self, vector: bytes, encoder: str, wanted: SearchFilter, limit: int
    ) -> list[tuple[Ref, float]]:
        size = self._size(encoder)
        check_vector(vector, size)
        if size is None or limit <= 0 or not has_direction(vector):
            return []
        most = max(_COMPARED, 4 * limit)
        while True:
            near = (self._by_server if self._halfvec else self._by_hand)(vector, encoder, wanted, most)
            shown = self._find_shown(near)
            fit = sorted((-score, -said, ref) for ref, said, score in near if ref in shown)
            if len(fit) >= limit or len(near) < most:
                return [(ref, -score) for score, _, ref in fit[:limit]]
            most *= 8  # most of the nearest are in no live history: look further

    def _by_server(self, vector: bytes, encoder: str, wanted: SearchFilter, most: int) -> list[_NEAR]:
        part = build_filter(wanted, self._root)
        sql = (
            f"SELECT w.thread, w.seq, w.said_us, w.half <=> %s AS far FROM backscroll_vectors w{part.joins} "
            f"WHERE w.tenant = %s AND w.encoder = %s AND {part.where} ORDER BY far, w.said_us DESC LIMIT %s"
        )
        rows = self._s.ask(sql, self._half(vector), self._tenant, plain(encoder), *part.values, most)
        # A zero vector has no direction; the server returns NaN for it.
        return [(Ref(*row[:2]), row[2], round_score(1 - row[3])) for row in rows if isfinite(row[3])]

    def _by_hand(self, vector: bytes, encoder: str, wanted: SearchFilter, most: int) -> list[_NEAR]:
        part = build_filter(wanted, self._root)
        sql = (
            f"SELECT w.thread, w.seq, w.said_us, w.half, w.root FROM backscroll_vectors w{part.joins} "
            f"WHERE w.tenant = %s AND w.encoder = %s AND {part.where} AND (w.root, w.thread, w.seq) > (%s, %s, %s) "
            "ORDER BY w.root, w.thread, w.seq LIMIT %s"
        )
        edge: tuple[object, ...] = ("0" * 32, "0" * 32, -1)
        best: list[_NEAR] = []
        while rows := self._s.ask(sql, self._tenant, plain(encoder), *part.values, *edge, _READ):
            edge = (rows[-1][4], rows[-1][0], rows[-1][1])
            fit = [row for row in rows if len(row[3]) == len(vector) and has_direction(row[3])]
            scores = cosines(vector, [row[3] for row in fit])
            best += [(Ref(*row[:2]), row[2], score) for row, score in zip(fit, scores, strict=True)]
            best = sorted(best, key=lambda each: (-each[2], -each[1]))[:most]
        return best

    def _find_shown(self, near: Sequence[_NEAR]) -> set[Ref]:
        """Return those that are in the index: exactly those that some history shows."""
        sql = (
            f"SELECT k.thread, k.seq FROM {KEYS} CROSS JOIN LATERAL (SELECT 1 FROM backscroll_words w "
            f"WHERE w.tenant = %s AND w.root = %s AND w.thread = k.thread AND w.seq = k.seq {EACH}) w"
        )
        return set(self._looked_up(sql, [each[0] for each in near], lambda _: True))

    # -- what has a place in a history -----------------------------------------------------------------------

    def _select_between(
        self,
        columns: str,
        table: str,
        thread: str,
        keys: Mapping[str, object],
        after: bytes | None,
        before: bytes | None,
        newest_first: bool,
        limit: int | None,
        over: bytes | None = None,
    ) -> Sequence[Any]:
        """Return rows of a table whose position lies strictly between two others, in order; `over`: settled turns that held it."""
        root = self._root(thread)
        if root is None:
            return []
        where = ["tenant = %s", "root = %s", "thread = %s", *(f"{name} = %s" for name in keys)]
        edges = [
            (sign, edge) for sign, edge in ((">", after), ("<", before), ("<=", over)) if edge is not None
        ]
        where += [f"position {sign} %s" for sign, _ in edges]
        if over is not None:
            where.append("pinned > 0 AND ends > %s")
            edges.append((">", over))
        order = "DESC" if newest_first else "ASC"
        sql = (
            f"SELECT {columns} FROM backscroll_{table} WHERE {' AND '.join(where)} "
            f"ORDER BY position {order}, opening_thread {order}, opening_seq {order} LIMIT %s::bigint"
        )
        values = (self._tenant, root, thread, *keys.values(), *(edge for _, edge in edges))
        return self._s.ask(sql, *values, None if limit is None else max(0, limit))

    # -- the summary tree ------------------------------------------------------------------------------------

    def nodes(
        self,
        thread: str,
        level: int,
        *,
        after: bytes | None = None,
        before: bytes | None = None,
        newest_first: bool = False,
        limit: int | None = None,
    ) -> list[SummaryNode]:
        rows = self._select_between(
            _NODE, "nodes", thread, {"level": level}, after, before, newest_first, limit
        )
        return [SummaryNode(thread, row[0], Ref(row[1], row[2]), *row[3:]) for row in rows]

    # -- turns under analysis --------------------------------------------------------------------------------

    def turn_marks(
        self,
        thread: str,
        rule: str,
        *,
        after: bytes | None = None,
        before: bytes | None = None,
        newest_first: bool = False,
        limit: int | None = None,
        over: bytes | None = None,
    ) -> list[TurnMark]:
        keys = {"rule": plain(rule)}
        rows = self._select_between(
            _MARK, "turn_marks", thread, keys, after, before, newest_first, limit, over
        )
        return [
            TurnMark(thread, rule, Ref(o, n), p, due, pin, gone, e, v, k, tuple(map(Ref, threads, seqs)))
            for o, n, p, due, pin, gone, e, v, k, threads, seqs in rows
        ]

    # -- progress --------------------------------------------------------------------------------------------

    def progress(self, thread: str, recipe: str) -> int:
        root = self._root(thread)
        if root is None:
            return 0
        sql = "SELECT seen FROM backscroll_progress WHERE tenant = %s AND root = %s AND thread = %s AND recipe = %s"
        row = self._s.ask_one(sql, self._tenant, root, thread, plain(recipe))
        return 0 if row is None else row[0]

    def behind(self, recipe: str, limit: int) -> list[tuple[str, int]]:
        sql = BEHIND.format(columns="t.id, coalesce(p.seen, 0)", where="")
        return [(row[0], row[1]) for row in self._s.ask(sql, plain(recipe), self._tenant, max(0, limit))]


#: Starts at the thread that changed last: for an active writer, a match is found after a few rows.
BEHIND = (
    "SELECT {columns} FROM backscroll_threads t LEFT JOIN backscroll_progress p ON p.tenant = t.tenant "
    "AND p.root = t.root AND p.thread = t.id AND p.recipe = %s WHERE t.tenant = %s AND t.head > coalesce(p.seen, 0)"
    "{where} ORDER BY t.active DESC, t.id LIMIT %s"
)


def _sources(threads: Sequence[str], numbers: Sequence[int]) -> tuple[Ref, ...]:
    return tuple(Ref(*pair) for pair in zip(threads, numbers, strict=True))


def _reply(row: Sequence[Any]) -> RecipeReply:
    key, recipe, thread, model, body, threads, numbers, at = row
    return RecipeReply(key, recipe, thread, model, body, _sources(threads, numbers), at)
