"""Look up the family of a thread: every statement names it, so that a sharded server uses one shard.

Owns the mapping from a thread to its root, which never changes and is cached, and the lookup of many rows by id.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from backscroll.stores.postgres.session import PostgresSession
from backscroll.vocab.ids import THREAD_ID, Ref

T = TypeVar("T")
KEYS = "unnest(%s::uuid[], %s::bigint[]) AS k (thread, seq)"
#: Looks up each row by its whole key. Without it, a planner without statistics reads a whole family to find one event.
EACH = "OFFSET 0"
_MOST_ROOTS = 200_000


class Roots(dict[str, str]):
    """Thread -> root, for threads known to exist. Safe to share: each item is set once, to one value."""

    def learn(self, thread: str, root: str) -> None:
        """Remember a root; clearing the cache bounds its size and is cheaper than tracking uses."""
        if len(self) >= _MOST_ROOTS:
            self.clear()
        self[thread] = root


class PostgresNames:
    """Thread lookups through one session."""

    def __init__(self, session: PostgresSession, tenant: str, roots: Roots) -> None:
        self._s = session
        self._tenant = tenant
        self._roots = roots

    def _root(self, thread: str) -> str | None:
        root = self._roots.get(thread)
        if root is None and THREAD_ID.fullmatch(thread):
            sql = "SELECT root FROM backscroll_directory WHERE tenant = %s AND thread = %s"
            row = self._s.ask_one(sql, self._tenant, thread)
            if row is not None:
                root = row[0]
                self._learn(thread, row[0])
        return root

    def _learn(self, thread: str, root: str) -> None:
        self._roots.learn(thread, root)

    def _by_root(self, refs: Iterable[Ref]) -> dict[str, list[Ref]]:
        out: defaultdict[str, list[Ref]] = defaultdict(list)
        for ref in refs:
            root = self._root(ref.thread)
            if root is not None:
                out[root].append(ref)
        return out

    def _looked_up(
        self, sql: str, refs: Sequence[Ref], made: Callable[[tuple[Any, ...]], T], *more: object
    ) -> dict[Ref, T]:
        """Return the rows of a statement over `KEYS`, in the order of the names."""
        got: dict[Ref, T] = {}
        for root, names in self._by_root(refs).items():
            threads, numbers = [ref.thread for ref in names], [ref.seq for ref in names]
            for row in self._s.ask(sql, threads, numbers, self._tenant, root, *more):
                got[Ref(row[0], row[1])] = made(row[2:])
        return {ref: got[ref] for ref in refs if ref in got}
