"""Quarantine rows and reinsert a log inside one transaction. Implements `record.quarantine.RepairWriter`."""

from __future__ import annotations

from collections.abc import Iterable

from backscroll.record.chain import to_bytes
from backscroll.record.ports import ThreadState
from backscroll.record.quarantine import QuarantineRow
from backscroll.stores.columns import plain
from backscroll.stores.postgres.reading.text import hour
from backscroll.stores.postgres.schema import DISTRIBUTED_BY
from backscroll.stores.postgres.writing.derived import PostgresDerivedWriter
from backscroll.vocab.ids import LAST, Ref
from backscroll.vocab.values.moment import microseconds

#: Tables with rows of a family, by the thread that they belong to.
_FAMILY = tuple(
    name for name, column in DISTRIBUTED_BY.items() if column == "root" and name != "backscroll_threads"
)
_OF_A_THREAD = tuple(
    f"backscroll_{name}" for name in ("entries", "turns", "nodes", "turn_marks", "progress", "receipts")
)
_NEXT = "SELECT coalesce(max(no), 0) FROM backscroll_quarantine WHERE tenant = %s"


def thread_values(state: ThreadState) -> tuple[object, ...]:
    """Return the values of a thread's row after its ids, from `parent` to `about`, in the order of the columns."""
    us = microseconds(state.updated_at)
    return (
        *(state.parent, state.fork_seq, state.fork_position),
        None if state.fork_message is None else str(state.fork_message),
        *(state.head, state.hash, state.messages, state.turns, state.created_at, state.updated_at),
        *(us, hour(us), state.forgotten, plain(state.about.project), plain(state.about.kind)),
        *(plain(state.about.user), plain(state.about.key)),
        to_bytes(state.about.to_json()),
    )


class PostgresRepairWriter(PostgresDerivedWriter):
    """The part of a writer that only a repair uses."""

    _held: dict[str, ThreadState]

    def set_aside(self) -> list[QuarantineRow]:
        sql = "SELECT no, at, reason, source, thread, seq, held FROM backscroll_quarantine WHERE tenant = %s ORDER BY no"
        rows = self._s.ask(sql, self._tenant)
        return [
            QuarantineRow(n, at, why, source, t, seq, held.decode())
            for n, at, why, source, t, seq, held in rows
        ]

    def log_numbers(self, thread: str) -> list[int]:
        sql = "SELECT seq FROM backscroll_events WHERE tenant = %s AND root = %s AND thread = %s ORDER BY seq"
        return [row[0] for row in self._s.ask(sql, self._tenant, self._home(thread), thread)]

    def _keep_aside(
        self, table: str, thread: str, seq: str, reason: str, at: str, where: str, *values: object
    ) -> int:
        """Copy rows into the quarantine; return how many. `seq` is the number of the event, in SQL."""
        sql = (
            "INSERT INTO backscroll_quarantine (tenant, thread, no, seq, at, reason, source, held) "
            f"SELECT %s, %s, ({_NEXT}) + row_number() OVER (ORDER BY {seq}), {seq}, %s, %s, %s, "
            f"convert_to(to_jsonb(t)::text, 'UTF8') FROM backscroll_{table} t WHERE t.tenant = %s AND {where}"
        )
        return self._s.do(
            sql, self._tenant, plain(thread), self._tenant, at, plain(reason), table, self._tenant, *values
        )

    def copy_thread_aside(self, thread: str, reason: str, at: str) -> None:
        self._keep_aside("threads", thread, "0::bigint", reason, at, "t.id = %s", thread)

    def copy_event_aside(self, thread: str, seq: int, reason: str, at: str) -> None:
        self._keep_aside("events", thread, "t.seq", reason, at, "t.thread = %s AND t.seq = %s", thread, seq)

    def move_events_aside(self, thread: str, first: int, reason: str, at: str) -> int:
        root = self._home(thread)
        where = "t.root = %s AND t.thread = %s AND t.seq >= %s"
        count = self._keep_aside("events", thread, "t.seq", reason, at, where, root, thread, first)
        sql = "SELECT seq FROM backscroll_events t WHERE t.tenant = %s AND " + where
        gone = [Ref(thread, row[0]) for row in self._s.ask(sql, self._tenant, root, thread, first)]
        for statement, values in self._unmaking(root, gone):
            self._s.ask(statement, *values)
        users = "DELETE FROM backscroll_blob_users WHERE tenant = %s AND thread = %s AND seq >= %s"
        self._s.tell(users, self._tenant, thread, first)
        self.take_out(thread, first, LAST)
        return count

    def move_strays_aside(self, reason: str, at: str) -> int:
        missing = "NOT EXISTS (SELECT FROM backscroll_threads o WHERE o.tenant = t.tenant AND o.root = t.root AND o.id = t.thread)"
        count = self._keep_aside("events", "", "t.seq", reason, at, missing)
        self._s.do(f"DELETE FROM backscroll_events t WHERE t.tenant = %s AND {missing}", self._tenant)
        lost = (
            "EXISTS (SELECT FROM unnest(t.source_roots, t.source_threads, t.source_seqs) AS s (root, thread, seq) "
            "WHERE NOT EXISTS (SELECT FROM backscroll_events o WHERE o.tenant = t.tenant AND o.root = s.root "
            "AND o.thread = s.thread AND o.seq = s.seq))"
        )
        count += self._keep_aside("replies", "", "0::bigint", reason, at, lost)
        for table in ("replies", "made"):
            count += self._s.do(
                f"DELETE FROM backscroll_{table} t WHERE t.tenant = %s AND {lost}", self._tenant
            )
            orphan = (
                f"DELETE FROM backscroll_{table}_from t WHERE t.tenant = %s AND NOT EXISTS (SELECT FROM backscroll_{table} o "
                "WHERE o.tenant = t.tenant AND o.key = t.key)"
            )
            self._s.do(orphan, self._tenant)
            noted = (
                f"INSERT INTO backscroll_{table}_from (tenant, root, thread, seq, key) SELECT t.tenant, s.root, s.thread, s.seq, "
                f"t.key FROM backscroll_{table} t, unnest(t.source_roots, t.source_threads, t.source_seqs) AS s "
                "(root, thread, seq) WHERE t.tenant = %s ON CONFLICT DO NOTHING"
            )
            count += self._s.do(noted, self._tenant)
        for table in ("words", "tokens", "vectors"):
            sql = (
                f"DELETE FROM backscroll_{table} t WHERE t.tenant = %s AND NOT EXISTS (SELECT FROM backscroll_events o "
                "WHERE o.tenant = t.tenant AND o.root = t.root AND o.thread = t.thread AND o.seq = t.seq)"
            )
            count += self._s.do(sql, self._tenant)
        places = (
            "DELETE FROM backscroll_directory t WHERE t.tenant = %s AND NOT EXISTS (SELECT FROM backscroll_threads o "
            "WHERE o.tenant = t.tenant AND o.root = t.root AND o.id = t.thread)"
        )
        return count + self._s.do(places, self._tenant)

    def move_blob_aside(self, digest: str, reason: str, at: str) -> None:
        self._keep_aside("blobs", "", "0::bigint", reason, at, "t.digest = %s", plain(digest))
        sql = "DELETE FROM backscroll_blobs WHERE tenant = %s AND digest = %s"
        self._s.tell(sql, self._tenant, plain(digest))

    def renew_thread(self, state: ThreadState) -> None:
        self._move_home(state.id, state.root)
        for table in ("entries", "words"):
            sql = f"DELETE FROM backscroll_{table} WHERE tenant = %s AND root = %s AND thread = %s"
            self._s.tell(sql, self._tenant, state.root, state.id)
        self._s.tell(
            "UPDATE backscroll_threads SET parent = %s, fork_seq = %s, fork_position = %s, fork_message = %s, head = %s, "
            "hash = %s, messages = %s, turns = %s, created_at = %s, updated_at = %s, updated_us = %s, active = %s, "
            "forgotten = %s, project = %s, kind = %s, person = %s, own_key = %s, about = %s WHERE tenant = %s AND id = %s",
            *thread_values(state),
            *(self._tenant, state.id),
        )
        self._held[state.id] = state

    def _move_home(self, thread: str, root: str) -> None:
        """Move a thread that an old import put into the wrong family to its parent's, with all of its rows."""
        found = self._s.ask_one(
            "SELECT root FROM backscroll_threads WHERE tenant = %s AND id = %s", self._tenant, thread
        )
        if found is None or found[0] == root == self._root(thread):
            return
        for table in _FAMILY:
            sql = f"UPDATE {table} SET root = %s WHERE tenant = %s AND thread = %s AND root <> %s"
            self._s.tell(sql, root, self._tenant, thread, root)
        self._s.tell(
            "UPDATE backscroll_threads SET root = %s WHERE tenant = %s AND id = %s",
            root,
            self._tenant,
            thread,
        )
        put = (
            "INSERT INTO backscroll_directory (tenant, thread, root) VALUES (%s, %s, %s) "
            "ON CONFLICT (tenant, thread) DO UPDATE SET root = excluded.root"
        )
        self._s.tell(put, self._tenant, thread, root)
        self._s.flush()
        self._learn(thread, root)

    def take_out(self, thread: str, first: int, last: int) -> None:
        root = self._home(thread)
        for table in ("words", "events"):
            sql = f"DELETE FROM backscroll_{table} WHERE tenant = %s AND root = %s AND thread = %s AND seq BETWEEN %s AND %s"
            self._s.tell(sql, self._tenant, root, thread, first, last)

    def rebuild_words(self) -> None:
        """Do nothing: index rows are independent and were rewritten with their events."""

    def drop_thread(self, thread: str) -> None:
        root = self._home(thread)
        for table in _OF_A_THREAD:
            sql = f"DELETE FROM {table} WHERE tenant = %s AND root = %s AND thread = %s"
            self._s.tell(sql, self._tenant, root, thread)
        self._s.tell("DELETE FROM backscroll_made WHERE tenant = %s AND thread = %s", self._tenant, thread)
        self._s.tell("DELETE FROM backscroll_origins WHERE tenant = %s AND thread = %s", self._tenant, thread)
        self._s.tell("DELETE FROM backscroll_threads WHERE tenant = %s AND id = %s", self._tenant, thread)
        self._s.tell(
            "DELETE FROM backscroll_directory WHERE tenant = %s AND thread = %s", self._tenant, thread
        )
        self._s.flush()
        self._roots.pop(thread, None)
        self._held.pop(thread, None)

    def erase_aside(self, thread: str) -> None:
        sql = "DELETE FROM backscroll_quarantine WHERE tenant = %s AND thread = %s"
        self._s.tell(sql, self._tenant, thread)

    def _erase_event_aside(self, thread: str, seqs: Iterable[int]) -> None:
        """Erase quarantined copies of forgotten text, and of thread rows, which contain titles."""
        sql = "DELETE FROM backscroll_quarantine WHERE tenant = %s AND thread = %s AND seq = ANY(%s)"
        self._s.tell(sql, self._tenant, thread, [0, *seqs])
