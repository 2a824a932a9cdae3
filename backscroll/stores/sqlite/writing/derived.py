"""Write derived data, and erase it with its sources. The writing half of `derived` and `accounts`.

Data made from text that has been forgotten meanwhile is not stored: its writer started earlier and does not know.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from backscroll.record.derived import Artefact, Charge, Lesson, RecipeReply, SummaryNode, TurnMark
from backscroll.stores.columns import plain
from backscroll.stores.ledger import CHARGE, columns_of
from backscroll.stores.nearness import check_vector, sign_bits
from backscroll.stores.sqlite.reading.derived import BEHIND, join_keys, role_number
from backscroll.stores.sqlite.reading.rows import SqliteReader
from backscroll.stores.sqlite.scrub import note_scrub
from backscroll.vocab.ids import Ref
from backscroll.vocab.values.moment import microseconds


class SqliteDerivedWriter(SqliteReader):
    """Writes derived data through the one writing connection."""

    _keeps = False

    # -- artefacts and replies -------------------------------------------------------------------------------

    def _standing(self, sources: Sequence[Ref]) -> list[int] | None:
        """Return the keys of sources; None if the text of one is gone."""
        keys = [self._require_key(ref) for ref in sources]
        sql = "SELECT key FROM events WHERE body IS NOT NULL AND key IN (…)"
        there = {row[0] for row in self._many(sql, list(dict.fromkeys(keys)))}
        return keys if len(there) == len(set(keys)) else None

    def make(self, artefacts: Iterable[Artefact]) -> None:
        sql = "INSERT INTO made (key, recipe, thread, sources, at, body) VALUES (?,?,?,?,?,?) ON CONFLICT DO NOTHING"
        for made in artefacts:
            home, keys = self._home(made.thread), self._standing(made.sources)
            if keys is None:
                continue
            values = (made.key, plain(made.recipe), home, join_keys(keys), made.at, made.body)
            cursor = self._c.execute(sql, values)
            if cursor.rowcount > 0:
                rows = [(key, cursor.lastrowid) for key in dict.fromkeys(keys)]
                self._c.executemany("INSERT INTO made_from VALUES (?,?)", rows)

    def keep_reply(self, reply: RecipeReply) -> None:
        home, keys = self._home(reply.thread), self._standing(reply.sources)
        if keys is None:
            return
        cursor = self._c.execute(
            "INSERT INTO replies (key, recipe, thread, model, sources, at, body) VALUES (?,?,?,?,?,?,?) "
            "ON CONFLICT DO NOTHING",
            (reply.key, plain(reply.recipe), home, plain(reply.model), join_keys(keys), reply.at, reply.body),
        )
        if cursor.rowcount > 0:
            rows = [(key, cursor.lastrowid) for key in dict.fromkeys(keys)]
            self._c.executemany("INSERT INTO replies_from VALUES (?,?)", rows)

    # -- vectors ---------------------------------------------------------------------------------------------

    def set_vectors(self, encoder: str, vectors: Iterable[tuple[Ref, bytes]]) -> None:
        known = self._encoder(encoder)
        for ref, vector in vectors:
            check_vector(vector, None if known is None else known[1])
            if known is None:
                sql = "INSERT INTO encoders (name, size) VALUES (?, ?)"
                number = self._c.execute(sql, (plain(encoder), len(vector))).lastrowid
                known = (number or 0, len(vector))
            key = self._require_key(ref)
            sql = "SELECT said_us, role FROM events WHERE key = ? AND body IS NOT NULL"
            row = self._c.execute(sql, (key,)).fetchone()
            if row is None:
                continue
            self._drop_vectors([key], known[0])
            sql = "INSERT INTO signs (encoder, event, said_us, role, bits) VALUES (?,?,?,?,?)"
            values = (known[0], key, row[0], role_number(row[1]), sign_bits(vector))
            number = self._c.execute(sql, values).lastrowid
            self._c.execute("INSERT INTO vectors VALUES (?, ?)", (number, vector))

    def _drop_vectors(self, keys: Sequence[int], encoder: int | None = None) -> int:
        which = "" if encoder is None else f" AND encoder = {int(encoder)}"
        rows = list(self._many(f"SELECT no FROM signs WHERE event IN (…){which}", keys))
        self._c.executemany("DELETE FROM vectors WHERE no = ?", rows)
        self._c.executemany("DELETE FROM signs WHERE no = ?", rows)
        return len(rows)

    # -- the summary tree ------------------------------------------------------------------------------------

    def set_node(self, node: SummaryNode) -> None:
        values = (
            self._home(node.thread),
            node.level,
            self._require_key(node.opening),
            node.position,
            node.end,
        )
        self._c.execute(
            "INSERT OR REPLACE INTO nodes VALUES (?,?,?,?,?,?,?,?,?)",
            (*values, node.version, node.key, node.turns, node.messages),
        )

    def drop_node(self, thread: str, level: int, opening: Ref) -> None:
        keys = (self._number(thread), level, self._key(opening))
        self._c.execute("DELETE FROM nodes WHERE thread = ? AND level = ? AND opening = ?", keys)

    # -- turns under analysis --------------------------------------------------------------------------------

    def set_turn_marks(self, marks: Iterable[TurnMark]) -> None:
        rows = [
            (
                self._home(m.thread),
                plain(m.rule),
                self._require_key(m.opening),
                m.position,
                m.due,
                m.pinned,
                m.gone,
                m.ends,
                m.version,
                m.key,
                join_keys(self._require_key(ref) for ref in m.sources),
            )
            for m in marks
        ]
        self._c.executemany("INSERT OR REPLACE INTO turn_marks VALUES (?,?,?,?,?,?,?,?,?,?,?)", rows)

    def drop_turn_marks(self, thread: str, rule: str, openings: Sequence[Ref] | None = None) -> None:
        keys = (self._number(thread), plain(rule))
        if openings is None:
            self._c.execute("DELETE FROM turn_marks WHERE thread = ? AND rule = ?", keys)
            return
        rows = [(*keys, self._key(opening)) for opening in openings]
        self._c.executemany("DELETE FROM turn_marks WHERE thread = ? AND rule = ? AND opening = ?", rows)

    # -- progress --------------------------------------------------------------------------------------------

    def claim(self, recipe: str, worker: str, now_us: int, until_us: int) -> tuple[str, int] | None:
        name = plain(recipe)
        sql = BEHIND.format(" AND coalesce(p.until_us, 0) <= ?")
        row = self._c.execute(sql, (name, now_us, 1)).fetchone()
        if row is None:
            return None
        self._c.execute(
            "INSERT INTO progress (recipe, thread, worker, until_us) VALUES (?,?,?,?) ON CONFLICT DO UPDATE "
            "SET worker = excluded.worker, until_us = excluded.until_us, afresh = 0",
            (name, row[0], plain(worker), until_us),
        )
        return self._name(row[0]), row[1]

    def set_progress(self, thread: str, recipe: str, seen: int) -> None:
        # After a forget the work starts over, whatever a caller that started earlier had seen.
        self._c.execute(
            "INSERT INTO progress (recipe, thread, seen) VALUES (?,?,?) ON CONFLICT DO UPDATE "
            "SET seen = iif(afresh, 0, excluded.seen), worker = '', until_us = 0, afresh = 0",
            (plain(recipe), self._home(thread), seen),
        )

    # -- accounts --------------------------------------------------------------------------------------------

    def charge(self, charge: Charge) -> None:
        values = columns_of(charge)
        sql = f"INSERT OR IGNORE INTO charges ({CHARGE}) VALUES ({','.join('?' * len(values))})"
        self._c.execute(sql, values)

    def settle(self, charge: Charge) -> None:
        values = columns_of(charge)
        sql = f"INSERT OR REPLACE INTO charges ({CHARGE}) VALUES ({','.join('?' * len(values))})"
        self._c.execute(sql, values)

    def learn(self, lesson: Lesson) -> None:
        values = (
            plain(lesson.thread),
            microseconds(lesson.at),
            plain(lesson.feature),
            lesson.at,
            lesson.amount,
        )
        self._c.execute("INSERT OR REPLACE INTO lessons VALUES (?,?,?,?,?)", values)

    def unlearn(self, thread: str | None = None) -> int:
        if thread is None:
            return self._c.execute("DELETE FROM lessons").rowcount
        return self._c.execute("DELETE FROM lessons WHERE thread = ?", (plain(thread),)).rowcount

    def keep_receipt(self, thread: str, at: str, body: bytes, keep: int) -> None:
        home = self._home(thread)
        sql = "SELECT coalesce(max(no), 0) + 1 FROM receipts WHERE thread = ?"
        number: int = self._c.execute(sql, (home,)).fetchone()[0]
        self._c.execute("INSERT INTO receipts VALUES (?,?,?,?)", (home, number, at, body))
        sql = "DELETE FROM receipts WHERE thread = ? AND no <= ?"
        self._c.execute(sql, (home, number - max(0, keep)))

    # -- erasing ---------------------------------------------------------------------------------------------

    def unmake(self, revisions: Sequence[Ref], threads: Sequence[str]) -> int:
        gone = self._unmade(list(self._keys(revisions)))
        for number in [n for t in dict.fromkeys(threads) if (n := self._number(t)) is not None]:
            for table in ("made", "replies"):
                sql = f"DELETE FROM {table} WHERE thread = ? AND sources = x''"
                gone += self._c.execute(sql, (number,)).rowcount
            gone += self._c.execute("DELETE FROM nodes WHERE thread = ?", (number,)).rowcount
            gone += self._c.execute("DELETE FROM receipts WHERE thread = ?", (number,)).rowcount
            gone += self._c.execute("DELETE FROM turn_marks WHERE thread = ?", (number,)).rowcount
            sql = "UPDATE progress SET seen = 0, afresh = worker <> '' WHERE thread = ?"
            self._c.execute(sql, (number,))
        if gone or revisions:
            note_scrub(self._c)
        return gone

    def _unmade(self, keys: Sequence[int]) -> int:
        """Delete what was derived from these revisions; return the number of rows."""
        gone = self._drop_vectors(keys)
        for table, names, column in (("made", "made_from", "made"), ("replies", "replies_from", "reply")):
            found = {row[0] for row in self._many(f"SELECT {column} FROM {names} WHERE source IN (…)", keys)}
            for number in sorted(found):
                # References at its other sources are deleted too; its row names them all.
                sql = f"SELECT sources FROM {table} WHERE no = ?"
                row = self._c.execute(sql, (number,)).fetchone()
                all_ = set(keys) if row is None else {self._require_key(ref) for ref in self._sources(row[0])}
                rows = [(key, number) for key in all_]
                self._c.executemany(f"DELETE FROM {names} WHERE source = ? AND {column} = ?", rows)
                self._c.execute(f"DELETE FROM {table} WHERE no = ?", (number,))
            gone += len(found)
        for key in keys:
            gone += self._c.execute("DELETE FROM tokens WHERE event = ?", (key,)).rowcount
        return gone
