"""Write rows of the SQLite store inside one transaction. Implements `record.ports.Writer`."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence

from backscroll.errors import StoreCorrupt
from backscroll.record.chain import to_bytes
from backscroll.record.history import Entry
from backscroll.record.order import at_end
from backscroll.record.ports import EventRow, ThreadState
from backscroll.stores.columns import plain
from backscroll.stores.sqlite.compression import pack_body
from backscroll.stores.sqlite.reading.signs import VectorCaches
from backscroll.stores.sqlite.scrub import note_scrub
from backscroll.stores.sqlite.word_index import WAITING, add, add_all, index_waiting, remove
from backscroll.stores.sqlite.writing.repair import SqliteRepairWriter, thread_values
from backscroll.vocab.ids import Ref
from backscroll.vocab.values.moment import microseconds

_LOG = (
    "INSERT INTO events (key, kind, actor, at, target, head, salt, body, seal, hash, digest, said, said_us, role, "
    "tools, doc, undoable, unpacked) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
)
_OPEN = "INSERT INTO entries VALUES (?,?,?,NULL,?,?,?,?,?,?,?)"
_HELD = 1024  # thread rows that a writer caches


class SqliteWriter(SqliteRepairWriter):
    """Writes through the one writing connection, which the caller has put into a transaction."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        numbers: dict[str, int],
        names: dict[int, str],
        signs: VectorCaches,
        another: Callable[[], sqlite3.Connection],
        held: dict[str, ThreadState],
        compress_above: int,
    ) -> None:
        super().__init__(connection, numbers, names, signs, another)
        self.added: list[str] = []
        self._held = held
        self._above = compress_above

    def take_back(self, keep: int) -> None:
        """Drop the cached numbers of threads added after the first `keep`, which are being rolled back."""
        self._held.clear()
        while len(self.added) > keep:
            self._names.pop(self._numbers.pop(self.added.pop()), None)

    def lock_thread(self, thread: str) -> ThreadState | None:
        # BEGIN IMMEDIATE already excludes every other writer.
        state = self._held.get(thread) or self.thread(thread)
        return None if state is None else self._hold(state)

    def lock_key(self, key: str) -> None:
        """Do nothing: BEGIN IMMEDIATE already excludes every other writer."""

    def _hold(self, state: ThreadState) -> ThreadState:
        if len(self._held) >= _HELD:
            self._held.clear()
        self._held[state.id] = state
        return state

    def add_thread(self, state: ThreadState) -> None:
        cursor = self._c.execute(
            "INSERT INTO threads (id, root, parent, fork_seq, fork_position, fork_message, head, hash, messages, turns, "
            "created_at, updated_at, updated_us, forgotten, project, kind, person, own_key, about) "
            "VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
            (state.id, *thread_values(state)),
        )
        if cursor.lastrowid is not None:
            self._learn(state.id, cursor.lastrowid)
            self.added.append(state.id)
        self._hold(state)

    def save_thread(self, state: ThreadState, *, about_changed: bool) -> None:
        self._hold(state)
        self._c.execute(
            "UPDATE threads SET head = ?, hash = ?, messages = ?, turns = ?, updated_at = ?, updated_us = ? WHERE no = ?",
            (
                state.head,
                state.hash,
                state.messages,
                state.turns,
                state.updated_at,
                microseconds(state.updated_at),
                self._number(state.id),
            ),
        )
        if about_changed:
            self._c.execute(
                "UPDATE threads SET about = ?, project = ?, kind = ?, person = ?, own_key = ?, forgotten = ? WHERE no = ?",
                (
                    to_bytes(state.about.to_json()),
                    plain(state.about.project),
                    plain(state.about.kind),
                    plain(state.about.user),
                    plain(state.about.key),
                    state.forgotten,
                    self._number(state.id),
                ),
            )

    def log(self, logged: EventRow) -> None:
        event = logged.event
        number = self._number(event.thread)
        if number is None:
            raise StoreCorrupt(
                f"the thread of event {event.id.short} is not in the store",
                hint="run `backscroll verify` to list the damage",
            )
        key = number << 32 | event.seq
        words = logged.words
        doc = WAITING if logged.waits else add(self._c, key, words) if words else None
        self._c.execute(_LOG, self._row(key, logged, doc))

    @property
    def words_may_wait(self) -> bool:
        return True

    def log_all(self, thread: str, logged: Sequence[EventRow], entries: Sequence[Entry]) -> None:
        if len(logged) == 1:
            self.log(logged[0])
            self.open_entry(thread, entries[0], None)
            return
        home = self._home(thread) << 32
        keys = [home | each.event.seq for each in logged]
        docs = add_all(
            self._c, [(key, each.words) for key, each in zip(keys, logged, strict=True) if each.words]
        )
        rows = (
            self._row(key, each, WAITING if each.waits else docs.get(key))
            for key, each in zip(keys, logged, strict=True)
        )
        self._c.executemany(_LOG, rows)
        self._c.executemany(_OPEN, (self._entry_row(thread, entry) for entry in entries))

    def _row(self, key: int, logged: EventRow, doc: int | None) -> tuple[object, ...]:
        event = logged.event
        body, size = pack_body(event.body, self._above)
        return (
            key,
            event.kind.value,
            event.actor,
            event.at,
            None if event.target is None else self._key(event.target),
            to_bytes(event.head) if logged.head is None else logged.head,
            event.salt,
            body,
            event.commit,
            event.hash,
            logged.digest,
            logged.said,
            logged.said_us,
            logged.role,
            "\n" + "\n".join(map(plain, logged.tools)) + "\n" if logged.tools else "",
            doc,
            logged.undoable,
            size,
        )

    def _entry_row(self, thread: str, entry: Entry) -> tuple[object, ...]:
        home = entry.message.thread == thread and entry.position == at_end(entry.message.seq)
        return (
            self._number(thread),
            entry.position,
            entry.since,
            self._key(entry.message),
            self._key(entry.revision),
            entry.role,
            entry.alternative,
            entry.alternatives,
            entry.flags,
            not home,
        )

    def open_entry(self, thread: str, entry: Entry, before: Entry | None) -> None:
        number = self._number(thread)
        if before is not None:
            self._c.execute(
                "UPDATE entries SET until = ? WHERE thread = ? AND position = ? AND since = ?",
                (entry.since, number, before.position, before.since),
            )
        self._c.execute(_OPEN, self._entry_row(thread, entry))

    def index(self, revision: Ref, words: str) -> None:
        key = self._key(revision)
        row = self._c.execute("SELECT doc FROM events WHERE key = ?", (key,)).fetchone()
        if key is None or row is None or not words:
            return
        if row[0] is None:
            doc = add(self._c, key, words)
            self._c.execute("UPDATE events SET doc = ? WHERE key = ?", (doc, key))

    def unindex(self, revision: Ref) -> None:
        remove(self._c, self._key(revision))

    def index_waiting(self, most: int | None = None) -> int:
        """Index waiting text; return how many entries."""
        return index_waiting(self._c, -1 if most is None else most)

    def _take_in_waiting(self) -> None:
        self.index_waiting()

    def put_blob(self, digest: str, data: bytes) -> None:
        self._c.execute("INSERT OR IGNORE INTO blobs VALUES (?, ?)", (digest, data))

    def link_blob(self, digest: str, revision: Ref) -> None:
        self._c.execute("INSERT OR IGNORE INTO blob_users VALUES (?, ?)", (digest, self._key(revision)))

    def set_origin(self, key: bytes, thread: str) -> None:
        self._c.execute("INSERT OR REPLACE INTO origins VALUES (?, ?)", (key, thread))

    def set_tokens(self, counts: Iterable[tuple[Ref, str, int]]) -> None:
        # Text that was forgotten while it was counted is not stored.
        sql = (
            "INSERT OR REPLACE INTO tokens SELECT ?1, ?2, ?3 "
            "WHERE EXISTS (SELECT 1 FROM events WHERE key = ?1 AND body IS NOT NULL)"
        )
        rows = [(self._require_key(ref), plain(tokenizer), count) for ref, tokenizer, count in counts]
        self._c.executemany(sql, rows)

    def set_turn_state(self, thread: str, opening: Ref, version: str, at: str | None) -> None:
        keys = (self._number(thread), self._key(opening))
        self._c.execute("DELETE FROM turn_states WHERE thread = ? AND opening = ?", keys)
        if at is not None:
            self._c.execute("INSERT INTO turn_states VALUES (?, ?, ?, ?)", (*keys, version, at))

    def set_meta(self, key: str, value: str) -> None:
        self._c.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def erase_event(self, event: Ref) -> None:
        key = self._key(event)
        self.unindex(event)
        if key is not None:
            self._unmade([key])
        self._c.execute("DELETE FROM blob_users WHERE event = ?", (key,))
        self._erase_event_aside(event.thread, [event.seq])
        sql = (
            "UPDATE events SET salt = NULL, body = NULL, digest = NULL, tools = '', doc = NULL, unpacked = 0 "
            "WHERE key = ?"
        )
        self._c.execute(sql, (key,))
        note_scrub(self._c)

    def erase_blob(self, digest: str) -> None:
        note_scrub(self._c)
        self._c.execute("DELETE FROM blobs WHERE digest = ?", (digest,))
        self._c.execute("DELETE FROM blob_users WHERE digest = ?", (digest,))
