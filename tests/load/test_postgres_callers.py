"""Many callers of one process on PostgreSQL: every call finishes, with few connections to the server."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import backscroll
from tests.stores.at_once import together

psycopg = pytest.importorskip("psycopg", reason="the extra `postgres` is not installed")

from backscroll.stores.postgres.pool import ConnectionPool  # noqa: E402 - only where the extra is there

_SESSIONS = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
)


class Overtaking:
    """How many slots were given to others while one caller waited in the queue, at the most."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.most = 0
        self._given = 0
        self._asked: dict[int, int] = {}
        call_next = ConnectionPool._call_next

        def counted(pool: ConnectionPool) -> None:  # under the lock of the pool
            before = list(pool._queue)
            for ticket in before:
                self._asked.setdefault(id(ticket), self._given)
            call_next(pool)
            for ticket in before:
                if ticket.granted:
                    waited = self._given - self._asked.pop(id(ticket))
                    self.most = max(self.most, waited)
                    self._given += 1

        monkeypatch.setattr(ConnectionPool, "_call_next", counted)


@pytest.mark.load
def test_forty_os_threads_on_one_engine(prepared_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Writes, reads and prompts of forty callers on four connections: no error, served in order."""
    overtaking = Overtaking(monkeypatch)
    with backscroll.open(prepared_url, background=False, postgres_connections=4) as store:
        threads = [store.create(f"thread {n}") for n in range(40)]

        def work(number: int) -> None:
            for count in range(10):
                threads[number].append("user", f"word{number} said {count}")
                assert len(threads[number].recent(3)) == min(3, count + 1)
            assert threads[number].prompt(8000).messages

        together(*[lambda n=n: work(n) for n in range(40)])
        assert [len(thread) for thread in threads] == [10] * 40
        with psycopg.connect(prepared_url) as admin:
            assert sessions(admin) <= 4
    assert 0 < overtaking.most < 40  # as many as can stand before one


@pytest.mark.load
def test_two_hundred_tenants_in_one_process(prepared_url: str) -> None:
    """Each has its own engine, and all share a few connections."""
    stores = [backscroll.open(prepared_url, tenant=f"tenant {n}", background=False) for n in range(200)]
    try:
        most, stop = [0], threading.Event()

        def look() -> None:
            with psycopg.connect(prepared_url, autocommit=True) as admin:
                while not stop.wait(0.01):
                    most[0] = max(most[0], sessions(admin))

        watcher = threading.Thread(target=look)
        watcher.start()

        def work(number: int) -> None:
            thread = stores[number].create(f"of {number}")
            for count in range(3):
                thread.append("user", f"said {count}")

        together(*[lambda n=n: work(n) for n in range(200)])
        stop.set()
        watcher.join(60)
        for number, store in enumerate(stores):
            assert [(t.title, t.messages) for t in store.threads()] == [(f"of {number}", 3)]
        assert 0 < most[0] <= 8
    finally:
        for store in stores:
            store.close()


def sessions(admin: Any) -> int:
    return admin.execute(_SESSIONS).fetchone()[0]
