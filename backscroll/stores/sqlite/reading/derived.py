"""Read derived data: artefacts, replies, vectors, the summary tree, progress.

Implements these tables' part of `record.ports.Reader`; `writing/derived` adds the writing half. Does not know recipes: to a
store an artefact is a key, some bytes, and the revisions it goes with.
"""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from backscroll.record.derived import Artefact, RecipeReply, SummaryNode, TurnMark
from backscroll.record.ports import SearchFilter
from backscroll.stores.columns import plain
from backscroll.stores.nearness import check_vector, cosines, has_direction, sign_bits
from backscroll.stores.sqlite.names import SqliteNames
from backscroll.stores.sqlite.reading.signs import VectorCaches, VectorFilter, best
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import ROLES, checked_role

_RESCORED = 400  # minimum number of vectors compared exactly
_APART = 8  # threads searched one by one; beyond that, all of them at once
_ROLE: dict[str, int] = {role: number for number, role in enumerate(ROLES, 1)}
_MARK = "opening, position, due, pinned, gone, ends, version, key, sources"
_NODE = "level, opening, position, end, version, key, turns, messages"


def role_number(role: str) -> int:
    """Return a role as its number in `signs`."""
    return _ROLE.get(role, 0)


def join_keys(keys: Iterable[int]) -> bytes:
    """Return keys of sources in their order, as one value."""
    return b"".join(key.to_bytes(8, "big") for key in keys)


class SqliteDerivedReader(SqliteNames):
    """Reads derived data."""

    _keeps = True  # results may be cached beyond this transaction

    def __init__(
        self,
        connection: sqlite3.Connection,
        numbers: dict[str, int],
        names: dict[int, str],
        signs: VectorCaches,
    ) -> None:
        super().__init__(connection, numbers, names)
        self._signs = signs

    def _sources(self, data: bytes) -> tuple[Ref, ...]:
        return tuple(self._ref(key) for (key,) in struct.iter_unpack(">q", data))

    # -- artefacts and replies -------------------------------------------------------------------------------

    def read_artefacts(self, keys: Sequence[bytes]) -> dict[bytes, Artefact]:
        sql = "SELECT key, recipe, thread, body, sources, at FROM made WHERE key IN (…)"
        return {
            key: Artefact(key, recipe, self._name(thread), body, self._sources(sources), at)
            for key, recipe, thread, body, sources, at in self._many(sql, list(dict.fromkeys(keys)))
        }

    def reply(self, key: bytes) -> RecipeReply | None:
        row = self._c.execute(f"SELECT {_REPLY} FROM replies WHERE key = ?", (key,)).fetchone()
        return None if row is None else self._reply(row)

    def replies(self, thread: str) -> list[RecipeReply]:
        sql = f"SELECT {_REPLY} FROM replies WHERE thread = ? ORDER BY at, key"
        return [self._reply(row) for row in self._c.execute(sql, (self._number(thread),)).fetchall()]

    def _reply(self, row: Sequence[Any]) -> RecipeReply:
        key, recipe, thread, model, body, sources, at = row
        return RecipeReply(key, recipe, self._name(thread), model, body, self._sources(sources), at)

    # -- vectors ---------------------------------------------------------------------------------------------

    def _encoder(self, name: str) -> tuple[int, int] | None:
        """Return the number of an encoder and the bytes of its vectors."""
        sql = "SELECT no, size FROM encoders WHERE name = ?"
        return self._c.execute(sql, (plain(name),)).fetchone()

    def vectors(self, revisions: Sequence[Ref], encoder: str) -> dict[Ref, bytes]:
        known, keys = self._encoder(encoder), self._keys(revisions)
        if known is None:
            return {}
        sql = "SELECT s.event, v.half FROM signs s JOIN vectors v ON v.no = s.no WHERE s.encoder = ? AND s.event IN (…)"
        got = {keys[key]: half for key, half in self._many(sql, list(keys), known[0])}
        return {ref: got[ref] for ref in revisions if ref in got}

    def nearest(
        self, vector: bytes, encoder: str, wanted: SearchFilter, limit: int
    ) -> list[tuple[Ref, float]]:
        known = self._encoder(encoder)
        check_vector(vector, None if known is None else known[1])
        if known is None or limit <= 0 or not has_direction(vector):
            return []
        bits = sign_bits(vector)
        sought = self._resolve_wanted(wanted)
        if sought.threads is None or len(sought.threads) > _APART:
            shelves = [self._signs.shelf(self._c, known[0], None, keep=self._keeps)]
        else:
            shelves = [self._signs.shelf(self._c, known[0], t, keep=self._keeps) for t in sought.threads]
        most = max(_RESCORED, 4 * limit)
        while True:
            near = [each for shelf in shelves for each in best(shelf, bits, sought, most)]
            exhausted = len(near) < most
            near = sorted(near, key=lambda each: (each[0], -each[1]))[:most]
            found = self._rescore_candidates(vector, near, wanted.tool, limit)
            if len(found) >= limit or exhausted:
                return found
            most *= 8  # most of the nearest are in no live history: look further

    def _resolve_wanted(self, wanted: SearchFilter) -> VectorFilter:
        threads: tuple[int, ...] | None = None
        if wanted.threads is not None:
            threads = tuple({n for t in wanted.threads if (n := self._number(t)) is not None})
        if wanted.project is not None or wanted.kind is not None or wanted.users is not None:
            sql = "SELECT no FROM threads WHERE project = coalesce(?, project) AND kind = coalesce(?, kind)"
            of = [None if text is None else plain(text) for text in (wanted.project, wanted.kind)]
            if wanted.users is not None:
                sql += f" AND person IN ({','.join('?' * len(wanted.users))})"
                of += map(plain, wanted.users)
            rows = {row[0] for row in self._c.execute(sql, of)}
            threads = tuple(sorted(rows if threads is None else rows.intersection(threads)))
        roles = tuple(_ROLE[checked_role(role)] for role in wanted.roles)
        return VectorFilter(threads, roles, wanted.since_us, wanted.until_us)

    def _rescore_candidates(
        self, vector: bytes, near: Sequence[tuple[int, int, int, int]], tool: str | None, limit: int
    ) -> list[tuple[Ref, float]]:
        """Return the candidates that some history shows now, ordered by exact score."""
        known = {no: (event, said) for _, no, event, said in near}
        rows = list(self._many("SELECT no, half FROM vectors WHERE no IN (…)", list(known)))
        fit = [(no, half) for no, half in rows if len(half) == len(vector) and has_direction(half)]
        scored = [
            (-score, -known[no][1], self._ref(known[no][0]), known[no][0])
            for (no, _), score in zip(fit, cosines(vector, [half for _, half in fit]), strict=True)
        ]
        out: list[tuple[Ref, float]] = []
        for score, _, ref, key in sorted(scored):
            if self._is_shown(key, tool):
                out.append((ref, -score))
                if len(out) == limit:
                    break
        return out

    def _is_shown(self, key: int, tool: str | None) -> bool:
        """Return True for revisions in the index: exactly those that some history shows."""
        row = self._c.execute("SELECT doc, tools FROM events WHERE key = ?", (key,)).fetchone()
        return row is not None and row[0] is not None and (tool is None or f"\n{plain(tool)}\n" in row[1])

    # -- what has a place in a history -----------------------------------------------------------------------

    def _select_between(
        self,
        columns: str,
        table: str,
        keys: Mapping[str, object],
        after: bytes | None,
        before: bytes | None,
        newest_first: bool,
        limit: int | None,
        over: bytes | None = None,
    ) -> list[Any]:
        """Return rows of a table whose position lies strictly between two others, in order; `over`: settled turns that held it."""
        where = [f"{name} = ?" for name in keys]
        edges = [
            (sign, edge) for sign, edge in ((">", after), ("<", before), ("<=", over)) if edge is not None
        ]
        where += [f"position {sign} ?" for sign, _ in edges]
        if over is not None:
            where.append("pinned > 0 AND ends > ?")
            edges.append((">", over))
        order = "DESC" if newest_first else "ASC"
        sql = (
            f"SELECT {columns} FROM {table} WHERE {' AND '.join(where)} "
            f"ORDER BY position {order}, opening {order} LIMIT ?"
        )
        most = -1 if limit is None else max(0, limit)
        return self._c.execute(sql, (*keys.values(), *(edge for _, edge in edges), most)).fetchall()

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
        keys = {"thread": self._number(thread), "level": level}
        rows = self._select_between(_NODE, "nodes", keys, after, before, newest_first, limit)
        return [SummaryNode(thread, row[0], self._ref(row[1]), *row[2:]) for row in rows]

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
        keys = {"thread": self._number(thread), "rule": plain(rule)}
        rows = self._select_between(_MARK, "turn_marks", keys, after, before, newest_first, limit, over)
        return [
            TurnMark(thread, rule, self._ref(o), p, due, pin, bool(gone), e, v, k, self._sources(s))
            for o, p, due, pin, gone, e, v, k, s in rows
        ]

    # -- progress --------------------------------------------------------------------------------------------

    def progress(self, thread: str, recipe: str) -> int:
        sql = "SELECT seen FROM progress WHERE recipe = ? AND thread = ?"
        row = self._c.execute(sql, (plain(recipe), self._number(thread))).fetchone()
        return 0 if row is None else row[0]

    def behind(self, recipe: str, limit: int) -> list[tuple[str, int]]:
        rows = self._c.execute(BEHIND.format(""), (plain(recipe), max(0, limit))).fetchall()
        return [(self._name(number), seen) for number, seen in rows]


_REPLY = "key, recipe, thread, model, body, sources, at"
#: Starts at the newest thread: for an active writer, a match is found after a few rows.
BEHIND = (
    "SELECT t.no, coalesce(p.seen, 0) FROM threads t LEFT JOIN progress p ON p.recipe = ? AND p.thread = t.no "
    "WHERE t.head > coalesce(p.seen, 0){} ORDER BY t.no DESC LIMIT ?"
)
