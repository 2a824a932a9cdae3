"""Quarantine rows and reinsert a log inside one transaction. Implements `record.quarantine.RepairWriter`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from backscroll.record.chain import to_bytes
from backscroll.record.ports import ThreadState
from backscroll.record.quarantine import QuarantineRow
from backscroll.stores.columns import plain
from backscroll.stores.sqlite.word_index import rebuild, remove
from backscroll.stores.sqlite.writing.derived import SqliteDerivedWriter
from backscroll.vocab.ids import LAST
from backscroll.vocab.values.moment import microseconds

#: Tables that hold what was derived for a thread, by its number.
_OF_A_THREAD = ("entries", "turn_states", "nodes", "turn_marks", "progress", "receipts")


def thread_values(state: ThreadState) -> tuple[object, ...]:
    """Return what the row of a thread holds after its id, from `root` to `about`, in the order of the columns."""
    return (
        *(state.root, state.parent, state.fork_seq, state.fork_position),
        None if state.fork_message is None else str(state.fork_message),
        *(state.head, state.hash, state.messages, state.turns, state.created_at, state.updated_at),
        *(microseconds(state.updated_at), state.forgotten, plain(state.about.project)),
        *(plain(state.about.kind), plain(state.about.user), plain(state.about.key)),
        to_bytes(state.about.to_json()),
    )


class SqliteRepairWriter(SqliteDerivedWriter):
    """The part of a writer that only a repair uses."""

    def _hold(self, state: ThreadState) -> ThreadState:
        """Remember the row of a thread as it is now."""
        return state

    def set_aside(self) -> list[QuarantineRow]:
        sql = "SELECT no, at, reason, source, thread, seq, held FROM quarantine ORDER BY no"
        rows: list[tuple[Any, ...]] = self._c.execute(sql).fetchall()
        return [
            QuarantineRow(n, at, why, source, t, seq, held.decode())
            for n, at, why, source, t, seq, held in rows
        ]

    def log_numbers(self, thread: str) -> list[int]:
        number = self._home(thread)
        sql = "SELECT key FROM events WHERE key BETWEEN ? AND ? ORDER BY key"
        return [row[0] & LAST for row in self._c.execute(sql, (number << 32, number << 32 | LAST)).fetchall()]

    def _keep(
        self, source: str, thread: str, seq: int, reason: str, at: str, sql: str, *values: object
    ) -> int:
        """Copy the rows of a query into the quarantine; return how many."""
        cursor = self._c.execute(sql, values)
        names = [column[0] for column in cursor.description]
        rows = cursor.fetchall()
        for row in rows:
            held = json.dumps(dict(zip(names, map(_plain, row), strict=True)), ensure_ascii=True).encode(
                "ascii"
            )
            number = row[names.index("key")] & LAST if source == "events" else seq
            self._c.execute(
                "INSERT INTO quarantine (at, reason, source, thread, seq, held) VALUES (?, ?, ?, ?, ?, ?)",
                (at, plain(reason), source, plain(thread), number, held),
            )
        return len(rows)

    def copy_thread_aside(self, thread: str, reason: str, at: str) -> None:
        self._keep("threads", thread, 0, reason, at, "SELECT * FROM threads WHERE id = ?", thread)

    def copy_event_aside(self, thread: str, seq: int, reason: str, at: str) -> None:
        key = self._home(thread) << 32 | seq
        self._keep("events", thread, seq, reason, at, "SELECT * FROM events WHERE key = ?", key)

    def move_events_aside(self, thread: str, first: int, reason: str, at: str) -> int:
        number = self._home(thread)
        low, high = number << 32 | first, number << 32 | LAST
        sql = "SELECT * FROM events WHERE key BETWEEN ? AND ?"
        count = self._keep("events", thread, first, reason, at, sql, low, high)
        self._delete_events(low, high)
        return count

    def _delete_events(self, low: int, high: int) -> None:
        keys = [
            row[0] for row in self._c.execute("SELECT key FROM events WHERE key BETWEEN ? AND ?", (low, high))
        ]
        self._unmade(keys)
        self._c.execute("DELETE FROM blob_users WHERE event BETWEEN ? AND ?", (low, high))
        self._delete_rows(low, high)

    def _delete_rows(self, low: int, high: int) -> None:
        self._unindex_between(low, high)
        self._c.execute("DELETE FROM events WHERE key BETWEEN ? AND ?", (low, high))

    def move_strays_aside(self, reason: str, at: str) -> int:
        count = 0
        sql = "SELECT DISTINCT key >> 32 FROM events WHERE key >> 32 NOT IN (SELECT no FROM threads)"
        for (number,) in self._c.execute(sql).fetchall():
            low, high = number << 32, number << 32 | LAST
            where = "SELECT * FROM events WHERE key BETWEEN ? AND ?"
            count += self._keep("events", f"number {number}", 0, reason, at, where, low, high)
            self._delete_rows(low, high)
            self._forget_number(number)
        lost = (
            "SELECT r.no FROM replies r WHERE r.thread NOT IN (SELECT no FROM threads) OR EXISTS (SELECT 1 FROM "
            "replies_from f WHERE f.reply = r.no AND f.source NOT IN (SELECT key FROM events))"
        )
        for (number,) in self._c.execute(lost).fetchall():
            count += self._keep("replies", "", 0, reason, at, "SELECT * FROM replies WHERE no = ?", number)
            self._c.execute("DELETE FROM replies_from WHERE reply = ?", (number,))
            self._c.execute("DELETE FROM replies WHERE no = ?", (number,))
        return count + self._drop_lost()

    def _drop_lost(self) -> int:
        """Drop what rests on missing rows and can be derived again."""
        gone = 0
        for table in ("made_from", "replies_from"):
            gone += self._c.execute(
                f"DELETE FROM {table} WHERE source NOT IN (SELECT key FROM events)"
            ).rowcount
        gone += self._note_sources_anew()
        for table in ("tokens", "blob_users", "signs"):
            gone += self._c.execute(
                f"DELETE FROM {table} WHERE event NOT IN (SELECT key FROM events)"
            ).rowcount
        self._c.execute("DELETE FROM vectors WHERE no NOT IN (SELECT no FROM signs)")
        return (
            gone + self._c.execute("DELETE FROM indexed WHERE event NOT IN (SELECT key FROM events)").rowcount
        )

    def rebuild_words(self) -> None:
        rebuild(self._c)

    def _unindex_between(self, low: int, high: int) -> None:
        """Remove events from the index; entries of damaged rows go when the index is rebuilt."""
        docs = "SELECT key FROM events WHERE key BETWEEN ? AND ? AND doc IS NOT NULL"
        for (key,) in self._c.execute(docs, (low, high)).fetchall():
            remove(self._c, key)
        self._c.execute("DELETE FROM indexed WHERE event BETWEEN ? AND ?", (low, high))

    def _note_sources_anew(self) -> int:
        """Rebuild the references from events to derived rows."""
        count = 0
        for table, names, column in (("made", "made_from", "made"), ("replies", "replies_from", "reply")):
            for number, sources in self._c.execute(f"SELECT no, sources FROM {table}").fetchall():
                right = {self._require_key(ref) for ref in self._sources(sources)}
                sql = f"SELECT source FROM {names} WHERE {column} = ?"
                held = {row[0] for row in self._c.execute(sql, (number,)).fetchall()}
                for key in held - right:
                    self._c.execute(f"DELETE FROM {names} WHERE {column} = ? AND source = ?", (number, key))
                for key in right - held:
                    self._c.execute(f"INSERT INTO {names} (source, {column}) VALUES (?, ?)", (key, number))
                count += held != right
        return count

    def move_blob_aside(self, digest: str, reason: str, at: str) -> None:
        self._keep("blobs", "", 0, reason, at, "SELECT * FROM blobs WHERE digest = ?", digest)
        self._c.execute("DELETE FROM blobs WHERE digest = ?", (digest,))

    def renew_thread(self, state: ThreadState) -> None:
        number = self._home(state.id)
        low, high = number << 32, number << 32 | LAST
        self._unindex_between(low, high)
        self._c.execute("DELETE FROM entries WHERE thread = ?", (number,))
        self._c.execute(
            "UPDATE threads SET root = ?, parent = ?, fork_seq = ?, fork_position = ?, fork_message = ?, head = ?, hash = ?, "
            "messages = ?, turns = ?, created_at = ?, updated_at = ?, updated_us = ?, forgotten = ?, project = ?, kind = ?, "
            "person = ?, own_key = ?, about = ? WHERE no = ?",
            (*thread_values(state), number),
        )
        self._hold(state)

    def take_out(self, thread: str, first: int, last: int) -> None:
        number = self._home(thread)
        self._delete_rows(number << 32 | first, number << 32 | last)

    def drop_thread(self, thread: str) -> None:
        number = self._home(thread)
        for table in _OF_A_THREAD:
            self._c.execute(f"DELETE FROM {table} WHERE thread = ?", (number,))
        self._c.execute("DELETE FROM made WHERE thread = ?", (number,))
        self._c.execute("DELETE FROM made_from WHERE made NOT IN (SELECT no FROM made)")
        self._c.execute("DELETE FROM origins WHERE thread = ?", (thread,))
        self._c.execute("DELETE FROM threads WHERE no = ?", (number,))
        self._forget_number(number)

    def _forget_number(self, number: int) -> None:
        name = self._names.pop(number, None)
        if name is not None:
            self._numbers.pop(name, None)

    def erase_aside(self, thread: str) -> None:
        self._c.execute("DELETE FROM quarantine WHERE thread = ?", (thread,))

    def _erase_event_aside(self, thread: str, seqs: Iterable[int]) -> None:
        """Erase quarantined copies of forgotten text, and of thread rows, which contain titles."""
        rows = [(thread, seq) for seq in (0, *seqs)]
        self._c.executemany("DELETE FROM quarantine WHERE thread = ? AND seq = ?", rows)


def _plain(value: Any) -> Any:
    return f"\\x{value.hex()}" if isinstance(value, bytes) else value
