"""The connection pool: served in order, without deadlocks, and nothing left behind."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from backscroll.config import Settings
from backscroll.engine.engine import Engine
from backscroll.errors import StoreBusy
from backscroll.record.ports import Reader, Writer

psycopg = pytest.importorskip("psycopg", reason="the extra `postgres` is not installed")

from backscroll.stores.postgres import pool as pooling  # noqa: E402 - only where the extra is there
from backscroll.stores.postgres.connection import Address, address  # noqa: E402
from backscroll.stores.postgres.pool import ConnectionPool  # noqa: E402
from backscroll.stores.postgres.store import PostgresStore  # noqa: E402
from tests.stores.at_once import together  # noqa: E402
from tests.stores.test_postgres_writers import kill_others  # noqa: E402

_LONG = 30.0


def eventually(true: Callable[[], bool], what: str) -> None:
    """Wait until something holds; it fails only where it never does."""
    until = time.monotonic() + _LONG
    while not true():
        assert time.monotonic() < until, what
        time.sleep(0.001)


@pytest.fixture(scope="module")
def place(postgres_url: str) -> Address:
    return address(postgres_url, "default", _LONG)


@contextlib.contextmanager
def pool_of(place: Address, size: int, idle: float = 30.0) -> Iterator[ConnectionPool]:
    pool = ConnectionPool(place, size, idle)
    pool.join(size, idle)
    try:
        yield pool
    finally:
        pool.leave()
        eventually(lambda: pool.counts() == (0, 0, 0), "the pool is not empty at the end")


class Caller(threading.Thread):
    """An OS thread that asks for a connection, and gives it back, when it is told to."""

    def __init__(self, pool: ConnectionPool, number: int, holders: list[int], served: list[int]) -> None:
        super().__init__(daemon=True)
        self._pool, self._number, self._holders, self._served = pool, number, holders, served
        self.orders: queue.Queue[str] = queue.Queue()
        self.start()

    def run(self) -> None:
        while (order := self.orders.get()) != "end":
            while order in ("ask", "again"):
                with self._pool.lend_connection(time.monotonic() + _LONG):
                    self._holders.append(self._number)
                    self._served.append(self._number)
                    order = self.orders.get()
                    self._holders.remove(self._number)


class TestFairness:
    @settings(max_examples=25, phases=(Phase.explicit, Phase.reuse, Phase.generate))  # failing takes its time
    @given(size=st.integers(1, 3), script=st.lists(st.tuples(st.booleans(), st.integers(0, 7)), max_size=30))
    def test_who_asked_first_is_served_first(
        self, place: Address, size: int, script: list[tuple[bool, int]]
    ) -> None:
        """Whatever callers do, the longest waiting gets the next connection: also where somebody gives one back and asks
        again in the same breath."""
        with pool_of(place, size) as pool:
            holders: list[int] = []
            served: list[int] = []
            callers = [Caller(pool, n, holders, served) for n in range(8)]
            holding: list[int] = []  # as it should be, and in which order they got there
            waiting: list[int] = []
            order: list[int] = []

            def settled() -> bool:
                return (
                    served == order
                    and sorted(holders) == sorted(holding)
                    and pool.counts()[2] == len(waiting)
                )

            try:
                for again, number in script:
                    if number in waiting:
                        continue
                    if number in holding:
                        callers[number].orders.put("again" if again else "done")
                        holding.remove(number)
                        waiting += [number] if again else []
                    else:
                        callers[number].orders.put("ask")
                        waiting.append(number)
                    if waiting and len(holding) < size:
                        order.append(waiting.pop(0))
                        holding.append(order[-1])
                    eventually(
                        settled, f"served in the order {served}, not {order}; {holders} hold a connection"
                    )
            finally:
                for caller in callers:
                    caller.orders.put("done")
                    caller.orders.put("end")
                for caller in callers:
                    caller.join(_LONG)

    def test_caller_that_gives_up_is_not_served(self, place: Address) -> None:
        """It takes no slot with it, and the next in line is served."""
        with pool_of(place, 1) as pool:
            got: list[str] = []

            def patient() -> None:
                with pool.lend_connection(time.monotonic() + _LONG):
                    got.append("patient")

            with pool.lend_connection(time.monotonic() + _LONG):
                first = threading.Thread(target=lambda: got.append(type(impatient(pool)).__name__))
                first.start()
                eventually(lambda: pool.counts()[2] == 1, "the first caller does not wait")
                second = threading.Thread(target=patient)
                second.start()
                first.join(_LONG)
                assert got == ["StoreBusy"]
            second.join(_LONG)
            assert got == ["StoreBusy", "patient"]

    def test_ctrl_c_while_waiting_leaves_the_queue(self, place: Address) -> None:
        """The connection goes to the next waiting caller."""
        with pool_of(place, 1) as pool:
            let_go, held = threading.Event(), threading.Event()

            def hold() -> None:
                with pool.lend_connection(time.monotonic() + _LONG):
                    held.set()
                    eventually(lambda: pool.counts()[2] == 1, "nobody waits")
                    os.kill(os.getpid(), signal.SIGINT)
                    let_go.wait(_LONG)

            holder = threading.Thread(target=hold)
            holder.start()
            held.wait(_LONG)
            with pytest.raises(KeyboardInterrupt), pool.lend_connection(time.monotonic() + _LONG):
                pass
            assert pool.counts() == (1, 1, 0)
            let_go.set()
            holder.join(_LONG)
            with pool.lend_connection(time.monotonic() + _LONG):
                assert pool.counts() == (1, 1, 0)

    def test_read_inside_a_write_does_not_deadlock(self, postgres_url: str) -> None:
        """With one connection for all, each of several writers reads while it writes."""
        with closing(PostgresStore(postgres_url, tenant="nested", connections=1)) as store:

            def work(tx: Writer) -> None:
                tx.set_meta("key", "value")
                assert store.read(lambda r: r.meta("other")) is None

            together(*[lambda: store.write(work)] * 4)
            assert store.read(lambda r: r.meta("key")) == "value"

    def test_read_inside_a_read_takes_no_other_connection(self, postgres_url: str) -> None:
        """It sees the same moment; only after a write in between it sees a later one."""
        with closing(PostgresStore(postgres_url, tenant="inner")) as store:
            store.write(lambda tx: tx.set_meta("key", "old"))

            def work(outer: Reader) -> list[str | None]:
                inner = store.read(lambda r: r.meta("key"))
                used = store._pool.counts()[1]
                store.write(lambda tx: tx.set_meta("key", "new"))
                return [inner, str(used), outer.meta("key"), store.read(lambda r: r.meta("key"))]

            assert store.read(work) == ["old", "1", "old", "new"]


def impatient(pool: ConnectionPool) -> BaseException | None:
    try:
        with pool.lend_connection(time.monotonic() + 0.2):
            return None
    except StoreBusy as error:
        return error


class TestOnePoolForAll:
    def test_tenants_share_connections_only(self, prepared_url: str, admin_of: Any) -> None:
        """Forty tenants on two connections: each sees its own threads, and the server sees two sessions."""
        stores = [PostgresStore(prepared_url, tenant=f"tenant {n}", connections=2) for n in range(40)]
        try:
            engines = [Engine(store, Settings(background=False)) for store in stores]

            def work(number: int) -> None:
                thread = engines[number].create(f"of {number}")
                thread.append("user", f"secret{number}")

            together(*[lambda n=n: work(n) for n in range(40)])
            for number, engine in enumerate(engines):
                assert [each.title for each in engine.threads()] == [f"of {number}"]
                assert not engine.search(f"secret{(number + 1) % 40}").hits
            sessions = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            assert admin_of(prepared_url).execute(sessions).fetchone()[0] <= 2
        finally:
            for store in stores:
                store.close()
        eventually(
            lambda: not admin_of(prepared_url).execute(sessions).fetchone()[0], "a connection stayed open"
        )

    def test_time_limits_belong_to_a_store(self, postgres_url: str) -> None:
        """A short limit of one tenant applies to its own transactions on a shared connection only."""
        with (
            closing(PostgresStore(postgres_url, tenant="a", connections=1)) as slow,
            closing(PostgresStore(postgres_url, tenant="b", connections=1, statement_seconds=0.1)) as quick,
        ):
            with pytest.raises(StoreBusy) as caught:
                quick.read(lambda r: r._s.ask("SELECT pg_sleep(30)"))  # type: ignore[attr-defined]
            assert "postgres.statement_seconds" in caught.value.hint
            assert slow.read(lambda r: r._s.ask("SHOW statement_timeout")) == [("5min",)]  # type: ignore[attr-defined]
            assert slow.read(lambda r: r._s.ask("SELECT pg_sleep(0.2)"))  # type: ignore[attr-defined]
            assert slow._pool is quick._pool
            assert slow._pool.counts()[0] == 1

    def test_lock_wait_is_limited(self, postgres_url: str) -> None:
        """`lock_seconds` ends the wait for another writer long before `patience`."""
        with (
            closing(PostgresStore(postgres_url, tenant="locks")) as first,
            closing(PostgresStore(postgres_url, tenant="locks", lock_seconds=0.1)) as second,
        ):
            thread = Engine(first, Settings(background=False)).create("x")

            def work(tx: Writer) -> None:
                tx.lock_thread(thread.id)
                with pytest.raises(StoreBusy, match="held the thread"):
                    second.write(lambda inner: inner.lock_thread(thread.id))

            first.write(work)

    def test_verification_has_no_time_limit(self, postgres_url: str) -> None:
        """It reads everything, however long that takes."""
        with closing(PostgresStore(postgres_url, tenant="check", statement_seconds=0.1)) as store:

            def work(reader: Reader) -> None:
                reader.integrity()
                assert reader._s.ask("SHOW statement_timeout") == [("0",)]  # type: ignore[attr-defined]

            store.read(work)


class TestConnections:
    def test_idle_connections_are_closed(self, prepared_url: str, admin_of: Any) -> None:
        """After a while the server has none of ours, and the next call opens one again."""
        sessions = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        with closing(PostgresStore(prepared_url, idle_seconds=0.1)) as store:
            for _ in range(2):
                together(*[lambda: store.write(lambda tx: tx.set_meta("key", "value"))] * 4)
                eventually(
                    lambda: not admin_of(prepared_url).execute(sessions).fetchone()[0],
                    "an idle connection stays open",
                )

    def test_full_server_is_no_error_with_one_connection(self, prepared_url: str, admin_of: Any) -> None:
        """Sixteen callers share the one connection the server gives, in order, and use more once it can."""
        with contextlib.ExitStack() as stack:
            store = stack.enter_context(closing(PostgresStore(prepared_url, connections=6)))
            engine = Engine(store, Settings(background=False))
            threads = [engine.create(f"thread {n}") for n in range(16)]
            guests: list[Any] = []
            stack.callback(lambda: [guest.close() for guest in guests])
            with contextlib.suppress(psycopg.OperationalError):
                while len(guests) < 500:
                    guests.append(psycopg.connect(prepared_url))

            def work(number: int) -> None:
                for count in range(5):
                    threads[number].append("user", f"said {count}")

            together(*[lambda n=n: work(n) for n in range(16)])
            assert store._pool.counts()[0] == 1
            for guest in guests:
                guest.close()
            together(*[lambda n=n: work(n) for n in range(16)])
            assert [len(thread) for thread in threads] == [10] * 16

    def test_connection_ended_by_the_server_is_not_lent(self, prepared_url: str, admin_of: Any) -> None:
        """It is noticed before use, without asking the server."""
        with closing(PostgresStore(prepared_url)) as store:
            tries: list[int] = []

            def work(tx: Writer) -> None:
                tries.append(1)
                tx.set_meta("key", "value")

            store.write(work)
            kill_others(admin_of(prepared_url))
            store.write(work)
            assert len(tries) == 2  # nothing had to be done again

    @pytest.mark.parametrize("inside", [False, True])
    def test_forked_child_leaves_the_parent_alone(self, prepared_url: str, inside: bool) -> None:
        """Forked while other threads are working, or inside a read: both sides continue."""
        with closing(PostgresStore(prepared_url, connections=2)) as store:
            engine = Engine(store, Settings(background=False))
            thread, stop = engine.create("x"), threading.Event()
            others = [threading.Thread(target=keep_writing, args=(engine, stop)) for _ in range(4)]
            for other in others:
                other.start()
            try:
                for _ in range(4):
                    child = store.read(lambda _: fork(thread)) if inside else fork(thread)
                    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
                    thread.append("user", "parent")
            finally:
                stop.set()
                for other in others:
                    other.join(_LONG)
            assert [m.text for m in thread] == ["child", "parent"] * 4
            assert pooling._inherited == []  # the parent inherited nothing


def keep_writing(engine: Engine, stop: threading.Event) -> None:
    thread = engine.create("other")
    while not stop.is_set():
        thread.append("user", "meanwhile")


def fork(thread: Any) -> int:
    """A child that writes once and ends; gives its number in the parent."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # forking with threads around is the point
        child = os.fork()
    if child:
        return child
    code = 1
    try:
        thread.append("user", "child")
        thread.engine.store.close()
        code = 0
    finally:
        os._exit(code)


@pytest.fixture
def admin_of() -> Iterator[Callable[[str], Any]]:
    """Somebody else's connection to a database."""
    with contextlib.ExitStack() as stack:
        known: dict[str, Any] = {}

        def one(url: str) -> Any:
            if url not in known:
                known[url] = stack.enter_context(psycopg.connect(url, autocommit=True))
            return known[url]

        yield one
