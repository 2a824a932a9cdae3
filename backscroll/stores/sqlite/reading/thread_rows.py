"""Read thread rows of the SQLite store: by id, by the caller's key, by project and user, by family.

Owns the conversion of a row to a `ThreadState`; a damaged row does not hide the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, cast

from backscroll.errors import StoreCorrupt
from backscroll.record.chain import DAMAGE, make_corrupt_error
from backscroll.record.ports import ThreadState
from backscroll.record.thread_info import about_from_bytes
from backscroll.stores.columns import plain
from backscroll.stores.sqlite.reading.accounts import SqliteAccountReader
from backscroll.vocab.ids import parse_ref
from backscroll.vocab.values.fields import is_thread
from backscroll.vocab.values.moment import microseconds

_THREAD = (
    "id, root, head, hash, about, created_at, updated_at, messages, turns, parent, fork_seq, fork_position, "
    "fork_message, forgotten"
)


class ThreadRows(SqliteAccountReader):
    """The part of a reader that finds threads."""

    def thread(self, thread: str) -> ThreadState | None:
        row = self._c.execute(f"SELECT {_THREAD} FROM threads WHERE id = ?", (thread,)).fetchone()
        return None if row is None else _thread(row)

    def threads(
        self,
        *,
        project: str | None = None,
        user: str | None = None,
        kind: str | None = None,
        after: tuple[str, str] | None = None,
        limit: int = 100,
    ) -> list[ThreadState]:
        where, values = _belonging(project, user)
        if kind is not None:
            where.append("kind = ?")
            values.append(plain(kind))
        if after is not None:
            where.append("(updated_us, id) < (?, ?)")
            values += [microseconds(after[0]), after[1]]
        sql = f"SELECT {_THREAD} FROM threads WHERE {' AND '.join(where)} ORDER BY updated_us DESC, id DESC"
        return list(islice(_readable(self._c.execute(sql, values)), max(0, limit)))

    def heads(
        self, *, project: str | None = None, user: str | None = None, limit: int = 100
    ) -> list[tuple[str, int]]:
        where, values = _belonging(project, user)
        sql = f"SELECT id, head FROM threads WHERE {' AND '.join(where)} ORDER BY updated_us DESC, id DESC LIMIT ?"
        return self._c.execute(sql, (*values, max(0, limit))).fetchall()

    def find_by_key(self, key: str) -> ThreadState | None:
        sql = f"SELECT {_THREAD} FROM threads WHERE own_key = ? AND own_key <> '' ORDER BY created_at, id"
        return next(iter(_readable(self._c.execute(sql, (plain(key),)))), None)

    def threads_like(self, prefix: str, limit: int = 10) -> list[str]:
        sql = "SELECT id FROM threads WHERE id >= ? AND id < ? ORDER BY id LIMIT ?"
        return [row[0] for row in self._c.execute(sql, (prefix, prefix + "g", limit))]

    def unreadable(self) -> list[str]:
        rows = self._c.execute(f"SELECT {_THREAD} FROM threads ORDER BY no")
        return [str(row[0]) for row in rows if not list(_readable([row]))]

    def family(self, root: str) -> list[ThreadState]:
        rows = self._c.execute(f"SELECT {_THREAD} FROM threads WHERE root = ? ORDER BY no", (root,))
        return list(_readable(rows))


def _belonging(project: str | None, user: str | None) -> tuple[list[str], list[object]]:
    """Return conditions on project and user of a thread; SQLite matches their indexes by the schema's wording."""
    where, values = ["1"], cast("list[object]", [])
    for column, name in (("project", project), ("person", user)):
        if name is not None:
            where.append(f"{column} = ?" + (f" AND {column} <> ''" if plain(name) else ""))
            values.append(plain(name))
    return where, values


def whole(*numbers: object) -> None:
    """Raise if a numeric column holds anything else."""
    if not all(isinstance(number, int) for number in numbers):
        raise TypeError("a number is none")


def _thread(row: Sequence[Any]) -> ThreadState:
    try:
        return _state(row)
    except (*DAMAGE, StoreCorrupt) as error:
        raise make_corrupt_error(f"the row of thread {str(row[0])[:8]}", error) from error


def _readable(rows: Iterable[Sequence[Any]]) -> Iterator[ThreadState]:
    """Yield the readable rows: a damaged one must not hide the others. Verification reports it."""
    for row in rows:
        with suppress(StoreCorrupt):
            yield _thread(row)


def _state(row: Sequence[Any]) -> ThreadState:
    (
        id_,
        root,
        head,
        hash_,
        about,
        created,
        updated,
        messages,
        turns,
        parent,
        seq,
        position,
        message,
        forgotten,
    ) = row
    whole(head, messages, turns, seq)
    if not (is_thread(id_) and is_thread(root)) or (parent is not None and not is_thread(parent)):
        raise ValueError("an id is none")
    if not isinstance(position, bytes | None) or not isinstance(hash_, bytes):
        raise TypeError("bytes are none")
    microseconds(updated)  # an invalid time would otherwise surface only at the next write
    return ThreadState(
        id_,
        root,
        head,
        hash_,
        about_from_bytes(about),
        created,
        updated,
        messages,
        turns,
        parent,
        seq,
        position,
        None if message is None else parse_ref(message),
        bool(forgotten),
    )
