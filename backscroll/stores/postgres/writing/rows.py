"""Write rows of the PostgreSQL store inside one transaction. Implements `record.ports.Writer`.

Why READ COMMITTED and row locks are enough: a thread's own rows change only under the lock of its row, and each statement
after the lock sees everything committed before it. A fork reads its parents as of the event where it left them, and that past
never changes. A request for a whole family (an edit that may remove text from the index, a forget) locks all of it. Attached
bytes and origins are shared between families; the writer that relies on their rows locks them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace

from psycopg.errors import LockNotAvailable

from backscroll.record.chain import from_bytes, to_bytes
from backscroll.record.history import Entry
from backscroll.record.order import at_end
from backscroll.record.ports import EventRow, ThreadState
from backscroll.record.thread_info import about_from_json
from backscroll.stores.columns import plain
from backscroll.stores.postgres.names import Roots
from backscroll.stores.postgres.reading.columns import THREAD, readable, thread_of
from backscroll.stores.postgres.reading.text import hour, indexable, tenant_mark
from backscroll.stores.postgres.schema import SCRUB_BYTES, SCRUB_WORDS
from backscroll.stores.postgres.session import PostgresSession
from backscroll.stores.postgres.writing.repair import PostgresRepairWriter, thread_values
from backscroll.vocab.event import Event
from backscroll.vocab.ids import Ref
from backscroll.vocab.values.moment import microseconds

_KEYS = 0x42534354  # the advisory locks of threads created under a key


class FamilyBusy(Exception):
    """Another process holds a thread of the wanted family: release, and lock the family first on retry."""

    def __init__(self, root: str) -> None:
        super().__init__(root)
        self.root = root


class PostgresWriter(PostgresRepairWriter):
    """Writes through one session. New rows are visible to others only after the commit."""

    def __init__(
        self, session: PostgresSession, tenant: str, roots: Roots, halfvec: int, together: frozenset[str]
    ) -> None:
        super().__init__(session, tenant, roots, halfvec)
        self._together = together
        self._held: dict[str, ThreadState] = {}
        self._mark = tenant_mark(tenant)
        self.learned: dict[str, str] = {}
        self.last: Event | None = None  # to find out whether a commit succeeded
        self.added: str | None = None

    def _root(self, thread: str) -> str | None:
        return self.learned.get(thread) or super()._root(thread)

    # -- threads ---------------------------------------------------------------------------------------------

    def thread(self, thread: str) -> ThreadState | None:
        return self._held.get(thread) or super().thread(thread)

    def lock_thread(self, thread: str) -> ThreadState | None:
        held = self._held.get(thread)
        if held is not None:
            return held
        root = self._root(thread)
        if root is None:
            return None
        if root in self._together:
            self._lock_family(root, "")
            return self._held.get(thread)
        sql = (
            f"SELECT {THREAD} FROM backscroll_threads WHERE tenant = %s AND root = %s AND id = %s FOR UPDATE"
        )
        row = self._s.ask_one(sql, self._tenant, root, thread)
        if row is None:
            return None
        self._held[thread] = thread_of(row)
        return self._held[thread]

    def lock_key(self, key: str) -> None:
        """Take an advisory lock of two numbers; those of one number are fences (`fence`)."""
        named = hashlib.sha256(f"{self._tenant}\0{plain(key)}".encode()).digest()
        number = int.from_bytes(named[:4], signed=True)
        self._s.tell("SELECT pg_advisory_xact_lock(%s::int4, %s::int4)", _KEYS, number)

    def family(self, root: str) -> list[ThreadState]:
        """Return the family, all of it locked. Holding one member while waiting for another could deadlock, so this never
        waits: the transaction starts over and locks the family first, in a fixed order.
        """
        try:
            return self._lock_family(root, "" if root in self._together else "NOWAIT")
        except LockNotAvailable as error:
            if root in self._together:
                raise
            raise FamilyBusy(root) from error

    def _lock_family(self, root: str, how: str) -> list[ThreadState]:
        """Return every member, locked, oldest first. A fork can only be created while its parent is not locked: once a query
        finds no new member, the family is complete.
        """
        sql = f"SELECT {THREAD}, born FROM backscroll_threads WHERE tenant = %s AND root = %s ORDER BY id FOR UPDATE {how}"
        while True:
            rows = self._s.ask(sql, self._tenant, root)
            found = [(row[-1], state) for row in rows for state in readable([row[:-1]])]
            new = {state.id: state for _, state in found if state.id not in self._held}
            if not new:
                return [state for _, state in sorted(found, key=lambda each: (each[0], each[1].id))]
            self._held.update(new)

    def add_thread(self, state: ThreadState) -> None:
        born = 0
        if state.root != state.id:
            sql = "SELECT max(born) FROM backscroll_threads WHERE tenant = %s AND root = %s"
            born = (self._s.ask(sql, self._tenant, state.root)[0][0] or 0) + 1
        directory = "INSERT INTO backscroll_directory (tenant, thread, root) VALUES (%s, %s, %s)"
        self._s.tell(directory, self._tenant, state.id, state.root)
        self._s.tell(
            "INSERT INTO backscroll_threads (tenant, root, id, born, parent, fork_seq, fork_position, fork_message, head, "
            "hash, messages, turns, created_at, updated_at, updated_us, active, forgotten, project, kind, person, "
            "own_key, about) "
            "VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
            self._tenant,
            state.root,
            state.id,
            born,
            *thread_values(state),
        )
        self.learned[state.id] = state.root
        self.added = state.id
        self._held[state.id] = _as_stored(state)

    def save_thread(self, state: ThreadState, *, about_changed: bool) -> None:
        us = microseconds(state.updated_at)
        sets = (
            "head = %s, hash = %s, messages = %s, turns = %s, updated_at = %s, updated_us = %s, active = %s"
        )
        values: list[object] = [
            state.head,
            state.hash,
            state.messages,
            state.turns,
            state.updated_at,
            us,
            hour(us),
        ]
        if about_changed:
            sets += ", about = %s, project = %s, kind = %s, person = %s, own_key = %s, forgotten = %s"
            about = state.about
            named = (about.project, about.kind, about.user, about.key)
            values += [to_bytes(about.to_json()), *map(plain, named), state.forgotten]
        sql = f"UPDATE backscroll_threads SET {sets} WHERE tenant = %s AND root = %s AND id = %s"
        self._s.tell(sql, *values, self._tenant, self._home(state.id), state.id)
        self._held[state.id] = _as_stored(state) if about_changed else state

    # -- log and history -------------------------------------------------------------------------------------

    def log(self, logged: EventRow) -> None:
        event = logged.event
        root = self._home(event.thread)
        self._s.tell(
            "INSERT INTO backscroll_events (tenant, root, thread, seq, target_thread, target_seq, said_us, undoable, kind, "
            "role, actor, at, said, tools, seal, hash, digest, salt, head, body) "
            "VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
            self._tenant,
            root,
            event.thread,
            event.seq,
            None if event.target is None else event.target.thread,
            None if event.target is None else event.target.seq,
            logged.said_us,
            logged.undoable,
            event.kind.value,
            logged.role,
            event.actor,
            event.at,
            logged.said,
            [plain(tool) for tool in logged.tools],
            event.commit,
            event.hash,
            logged.digest,
            event.salt,
            to_bytes(event.head),
            event.body,
        )
        self.last = event
        if logged.words:
            literal, spelled = indexable(logged.words, self._mark)
            self._s.tell(
                "INSERT INTO backscroll_words (tenant, root, thread, seq, said_us, role, words, spelled) "
                "VALUES (%s, %s, %s, %s, %s, %s, %s::tsvector, %s)",
                *(self._tenant, root, event.thread, event.seq, logged.said_us, logged.role, literal, spelled),
            )

    @property
    def words_may_wait(self) -> bool:
        return False

    def log_all(self, thread: str, logged: Sequence[EventRow], entries: Sequence[Entry]) -> None:
        for each, entry in zip(logged, entries, strict=True):
            self.log(each)
            self.open_entry(thread, entry, None)

    def open_entry(self, thread: str, entry: Entry, before: Entry | None) -> None:
        root = self._home(thread)
        if before is not None:
            self._s.tell(
                "UPDATE backscroll_entries SET until = %s WHERE tenant = %s AND root = %s AND thread = %s "
                "AND position = %s AND since = %s",
                *(entry.since, self._tenant, root, thread, before.position, before.since),
            )
        home = entry.message.thread == thread and entry.position == at_end(entry.message.seq)
        self._s.tell(
            "INSERT INTO backscroll_entries (tenant, root, thread, message_thread, message_seq, revision_thread, "
            "revision_seq, since, alternative, alternatives, flags, strayed, role, position) "
            "VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
            *(self._tenant, root, thread, *entry.message, *entry.revision, entry.since),
            *(entry.alternative, entry.alternatives, entry.flags, not home, entry.role, entry.position),
        )

    # -- the index -------------------------------------------------------------------------------------------

    def index(self, revision: Ref, words: str) -> None:
        root = self._root(revision.thread)
        if root is None or not words:
            return
        literal, spelled = indexable(words, self._mark)
        self._s.tell(
            "INSERT INTO backscroll_words (tenant, root, thread, seq, said_us, role, words, spelled) "
            "SELECT v.tenant, v.root, v.thread, v.seq, v.said_us, v.role, %s::tsvector, %s FROM backscroll_events v "
            "WHERE v.tenant = %s AND v.root = %s AND v.thread = %s AND v.seq = %s ON CONFLICT DO NOTHING",
            *(literal, spelled, self._tenant, root, *revision),
        )

    def unindex(self, revision: Ref) -> None:
        root = self._root(revision.thread)
        sql = "DELETE FROM backscroll_words WHERE tenant = %s AND root = %s AND thread = %s AND seq = %s"
        if root is not None:
            self._s.tell(sql, self._tenant, root, *revision)

    # -- attached bytes --------------------------------------------------------------------------------------

    def put_blob(self, digest: str, data: bytes) -> None:
        """Store bytes unless they exist; existing ones are locked until our message is written."""
        insert = (
            "INSERT INTO backscroll_blobs (tenant, digest, data) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING"
        )
        hold = "SELECT 1 FROM backscroll_blobs WHERE tenant = %s AND digest = %s FOR KEY SHARE"
        name = plain(digest)
        while not self._s.ask(hold, self._tenant, name) and not self._s.do(insert, self._tenant, name, data):
            pass  # another writer stored or forgot the same bytes between the two statements

    def link_blob(self, digest: str, revision: Ref) -> None:
        self._home(revision.thread)
        name = plain(digest)
        hold = "SELECT 1 FROM backscroll_blobs WHERE tenant = %s AND digest = %s FOR KEY SHARE"
        self._s.tell(hold, self._tenant, name)
        sql = (
            "INSERT INTO backscroll_blob_users (tenant, digest, thread, seq) VALUES (%s, %s, %s, %s) "
            "ON CONFLICT DO NOTHING"
        )
        self._s.tell(sql, self._tenant, name, *revision)

    def blob_users(self, digest: str) -> list[Ref]:
        """Return the users of these bytes, locked against new ones, because the answer decides whether they are erased."""
        hold = "SELECT 1 FROM backscroll_blobs WHERE tenant = %s AND digest = %s FOR UPDATE"
        self._s.tell(hold, self._tenant, plain(digest))
        return super().blob_users(digest)

    # -- the rest --------------------------------------------------------------------------------------------

    def origin(self, key: bytes) -> str | None:
        """Return the thread of an origin. The transaction will act on the answer, so others wait."""
        look = "SELECT thread FROM backscroll_origins WHERE tenant = %s AND key = %s FOR UPDATE"
        claim = "INSERT INTO backscroll_origins (tenant, key) VALUES (%s, %s) ON CONFLICT DO NOTHING"
        while True:
            row = self._s.ask_one(look, self._tenant, key)
            if row is not None:
                return row[0]
            if self._s.do(claim, self._tenant, key):
                return None

    def set_origin(self, key: bytes, thread: str) -> None:
        sql = (
            "INSERT INTO backscroll_origins (tenant, key, thread) VALUES (%s, %s, %s) "
            "ON CONFLICT (tenant, key) DO UPDATE SET thread = excluded.thread"
        )
        self._s.tell(sql, self._tenant, key, thread)

    def set_tokens(self, counts: Iterable[tuple[Ref, str, int]]) -> None:
        # Text that was forgotten while it was counted is not stored.
        sql = (
            "INSERT INTO backscroll_tokens (tenant, root, thread, seq, tokenizer, count) "
            "SELECT v.tenant, v.root, v.thread, v.seq, %s, %s FROM backscroll_events v "
            "WHERE v.tenant = %s AND v.root = %s AND v.thread = %s AND v.seq = %s AND v.body IS NOT NULL FOR SHARE "
            "ON CONFLICT (tenant, root, thread, seq, tokenizer) DO UPDATE SET count = excluded.count"
        )
        # Always in a fixed order, so that two writers cannot deadlock.
        for ref, tokenizer, count in sorted(counts):
            self._s.tell(sql, plain(tokenizer), count, self._tenant, self._require_root(ref), *ref)

    def set_turn_state(self, thread: str, opening: Ref, version: str, at: str | None) -> None:
        root = self._home(thread)
        if at is None:
            sql = (
                "DELETE FROM backscroll_turns WHERE tenant = %s AND root = %s AND thread = %s "
                "AND opening_thread = %s AND opening_seq = %s"
            )
            self._s.tell(sql, self._tenant, root, thread, *opening)
            return
        sql = (
            "INSERT INTO backscroll_turns (tenant, root, thread, opening_thread, opening_seq, version, processed_at) "
            "VALUES (%s, %s, %s, %s, %s, %s, %s) ON CONFLICT (tenant, root, thread, opening_thread, opening_seq) "
            "DO UPDATE SET version = excluded.version, processed_at = excluded.processed_at"
        )
        self._s.tell(sql, self._tenant, root, thread, *opening, version, at)

    def erase_event(self, event: Ref) -> None:
        root = self._root(event.thread)
        if root is None:
            return
        where = "WHERE tenant = %s AND root = %s AND thread = %s AND seq = %s"
        key = (self._tenant, root, *event)
        # Events first: this waits for a writer that is storing something made from them, which is then found below.
        sets = "salt = NULL, body = NULL, digest = NULL, tools = '{}'"
        self._s.tell(f"UPDATE backscroll_events SET {sets} {where}", *key)
        self._s.tell(f"DELETE FROM backscroll_words {where}", *key)
        for sql, values in self._unmaking(root, [event]):
            self._s.tell(sql, *values)
        users = "DELETE FROM backscroll_blob_users WHERE tenant = %s AND thread = %s AND seq = %s"
        self._s.tell(users, self._tenant, *event)
        self._erase_event_aside(event.thread, [event.seq])
        self._scrub_later(SCRUB_WORDS)

    def erase_blob(self, digest: str) -> None:
        for table in ("backscroll_blobs", "backscroll_blob_users"):
            self._s.tell(
                f"DELETE FROM {table} WHERE tenant = %s AND digest = %s", self._tenant, plain(digest)
            )
        self._scrub_later(SCRUB_BYTES)

    # -- a commit that was cut off ---------------------------------------------------------------------------

    @property
    def repeatable(self) -> bool:
        """True if this transaction is idempotent: it only set values."""
        return self.last is None and self.added is None

    def has_arrived(self, session: PostgresSession) -> bool:
        """Return True if this transaction was committed, as seen by another session: all of its rows exist or none."""
        if self.last is None:
            sql = "SELECT 1 FROM backscroll_directory WHERE tenant = %s AND thread = %s"
            return bool(session.ask(sql, self._tenant, self.added))
        sql = (
            "SELECT hash FROM backscroll_events WHERE tenant = %s AND root = %s AND thread = %s AND seq = %s"
        )
        row = session.ask_one(sql, self._tenant, self._home(self.last.thread), *self.last.id)
        return row is not None and row[0] == self.last.hash


def _as_stored(state: ThreadState) -> ThreadState:
    """Return the state as the server will return it (lists instead of tuples)."""
    return replace(state, about=about_from_json(from_bytes(to_bytes(state.about.to_json()))))
