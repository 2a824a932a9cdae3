"""Map the ids of threads and events to the integers used in the file, and back.

Also reads many rows by their keys, whatever they hold.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from backscroll.errors import NotFound, StoreCorrupt
from backscroll.vocab.ids import LAST, Ref

#: Keys per query; few sizes, so that few statements are prepared.
_SIZES = (1, 16, 128, 512)


class SqliteNames:
    """Id lookups through one connection."""

    def __init__(
        self, connection: sqlite3.Connection, numbers: dict[str, int], names: dict[int, str]
    ) -> None:
        self._c = connection
        self._numbers = numbers
        self._names = names

    def _number(self, thread: str) -> int | None:
        number = self._numbers.get(thread)
        if number is None:
            row = self._c.execute("SELECT no FROM threads WHERE id = ?", (thread,)).fetchone()
            if row is None:
                return None
            number = self._learn(thread, row[0])
        return number

    def _learn(self, thread: str, number: int) -> int:
        self._numbers[thread] = number
        self._names[number] = thread
        return number

    def _key(self, ref: Ref) -> int | None:
        number = self._number(ref.thread)
        return None if number is None or ref.seq > LAST else number << 32 | ref.seq

    def _ref(self, key: int) -> Ref:
        return Ref(self._name(key >> 32), key & LAST)

    def _name(self, number: int) -> str:
        name = self._names.get(number)
        if name is None:
            row = self._c.execute("SELECT id FROM threads WHERE no = ?", (number,)).fetchone()
            if row is None:
                raise StoreCorrupt(
                    f"something in the store belongs to thread number {number}, which is missing",
                    hint="run `backscroll verify` to list the damage",
                )
            name = row[0]
            self._learn(name, number)
        return name

    def _home(self, thread: str) -> int:
        """Return the number of a thread; raise if it does not exist."""
        number = self._number(thread)
        if number is None:
            raise NotFound(f"thread {thread} not found", hint="run `backscroll threads` to list threads")
        return number

    def _require_key(self, ref: Ref) -> int:
        """Return the key of a message or revision; raise if its thread does not exist."""
        key = self._key(ref)
        if key is None:
            raise NotFound(
                f"message {ref.short} not found in thread {ref.thread[:8]}",
                hint="run `backscroll show` to list messages",
            )
        return key

    def _keys(self, refs: Iterable[Ref]) -> dict[int, Ref]:
        """Return the keys of those whose threads are known, each once."""
        return {key: ref for ref in refs if (key := self._key(ref)) is not None}

    def _many(self, sql: str, keys: Sequence[object], *before: object) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a statement with `IN (…)`, asked for many keys at a time; `before` are the values before them."""
        start = 0
        while start < len(keys):
            size = next((s for s in _SIZES if s >= len(keys) - start), _SIZES[-1])
            some = keys[start : start + size]
            start += size
            filled = (*before, *some, *(None,) * (size - len(some)))
            yield from self._c.execute(sql.replace("(…)", f"({','.join('?' * size)})"), filled).fetchall()
