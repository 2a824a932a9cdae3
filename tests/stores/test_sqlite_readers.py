"""Reading connections: pooled, never used by two threads, and safe when the process forks."""

from __future__ import annotations

import sqlite3
import threading
import time

import pytest

from backscroll.stores.sqlite.readers import ReaderPool


class Opened:
    """Counts the connections that are opened."""

    def __init__(self) -> None:
        self.all: list[sqlite3.Connection] = []

    def __call__(self) -> sqlite3.Connection:
        self.all.append(sqlite3.connect(":memory:", check_same_thread=False))
        return self.all[-1]

    def still_open(self) -> int:
        """How many of them answer."""
        return sum(self._answers(c) for c in self.all)

    def _answers(self, connection: sqlite3.Connection) -> bool:
        try:
            connection.execute("SELECT 1")
        except sqlite3.ProgrammingError:
            return False
        return True


@pytest.fixture
def opened() -> Opened:
    """Opens connections, and closes them at the end."""
    return Opened()


def test_connection_is_reused(opened: Opened) -> None:
    """Sequential reads need one connection, nested ones two."""
    readers = ReaderPool(opened)
    for _ in range(3):
        with readers.lend_connection() as connection:
            connection.execute("SELECT 1")
    assert len(opened.all) == 1
    with readers.lend_connection() as one, readers.lend_connection() as two:
        assert one is not two
    readers.close()
    assert (len(opened.all), opened.still_open()) == (2, 0)


def test_idle_connections_are_limited(opened: Opened) -> None:
    """Returned ones above the limit are closed; with a limit of zero none are kept."""
    readers = ReaderPool(opened, kept=1)
    with readers.lend_connection(), readers.lend_connection(), readers.lend_connection():
        pass
    assert opened.still_open() == 1
    readers.close()
    fresh = ReaderPool(opened, kept=0)
    with fresh.lend_connection():
        pass
    assert opened.still_open() == 0


def test_failed_connection_is_not_reused(opened: Opened) -> None:
    """After a database error the next reader gets another; other errors do not matter."""
    readers = ReaderPool(opened)
    with pytest.raises(sqlite3.OperationalError), readers.lend_connection() as connection:
        connection.execute("SELECT * FROM nowhere")
    assert opened.still_open() == 0
    with pytest.raises(KeyError), readers.lend_connection():
        raise KeyError
    assert opened.still_open() == 1
    readers.close()


def test_connection_in_use_is_closed_on_return(opened: Opened) -> None:
    """Closing the pool does not interrupt a reader."""
    readers = ReaderPool(opened)
    with readers.lend_connection() as connection:
        readers.close()
        connection.execute("SELECT 1")
    assert opened.still_open() == 0


def test_threads_never_share_a_connection(opened: Opened) -> None:
    """However many borrow and return at once."""
    readers = ReaderPool(opened)
    held: set[int] = set()
    shared: list[int] = []
    lock = threading.Lock()

    def work() -> None:
        for _ in range(200):
            with readers.lend_connection() as connection:
                with lock:
                    if id(connection) in held:
                        shared.append(id(connection))
                    held.add(id(connection))
                with lock:
                    held.discard(id(connection))

    workers = [threading.Thread(target=work) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert shared == []
    readers.close()
    assert opened.still_open() == 0


def test_pause_waits_for_readers_and_blocks_new_ones(opened: Opened) -> None:
    """During a pause nothing is open; afterwards reading continues."""
    readers = ReaderPool(opened)
    inside, go, begun = threading.Event(), threading.Event(), threading.Event()

    def first() -> None:
        with readers.lend_connection():
            inside.set()
            go.wait(10)

    def second() -> None:
        with readers.lend_connection():
            begun.set()

    one = threading.Thread(target=first)
    one.start()
    inside.wait(10)
    threading.Timer(0.05, go.set).start()
    readers.pause(10)
    assert opened.still_open() == 0
    two = threading.Thread(target=second)
    two.start()
    time.sleep(0.05)
    assert not begun.is_set()
    readers.resume()
    for worker in (one, two):
        worker.join(10)
    assert begun.is_set()
    readers.close()


def test_pause_inside_a_read_does_not_wait_for_itself(opened: Opened) -> None:
    """Forking while reading keeps that one connection and does not hang."""
    readers = ReaderPool(opened)
    with readers.lend_connection() as connection:
        readers.pause(10)
        readers.resume()
        assert connection.execute("SELECT 1").fetchone() == (1,)
    readers.close()
    assert opened.still_open() == 0
