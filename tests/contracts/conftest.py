"""The contract kit: what every store must do, written once and run on each of them.

A test asks for `store` and runs twice, on an empty SQLite file and on an empty PostgreSQL database; `store_url` is its
address, `reopen()` opens it once more. At the end of each test everything in the store must follow from its logs.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import pytest

import backscroll
from tests import proof
from tests.contracts.talk import work

STORES = [
    pytest.param("sqlite_url", id="sqlite"),
    pytest.param("prepared_url", id="postgres", marks=pytest.mark.postgres),
]


@pytest.fixture(params=STORES)
def store_url(request: pytest.FixtureRequest) -> str:
    """The address of an empty store, once for each kind there is."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def reopen(store_url: str) -> Iterator[Callable[[], backscroll.Engine]]:
    """A function that opens the test's store once more.

    While another handle is open in this process that is the same engine; from nothing, close the others first.
    """
    with contextlib.ExitStack() as stack:
        yield lambda: stack.enter_context(contextlib.closing(backscroll.open(store_url)))


@pytest.fixture
def store(store_url: str, reopen: Callable[[], backscroll.Engine]) -> Iterator[backscroll.Engine]:
    """An open, empty store, once for each kind there is; sound at the end of the test, whatever was done to it."""
    yield reopen()
    with contextlib.closing(backscroll.open(store_url)) as engine:
        proof.assert_sound(engine)


@pytest.fixture
def thread(store: backscroll.Engine) -> backscroll.Thread:
    """An empty conversation."""
    return store.create("Night train")


@pytest.fixture
def long(thread: backscroll.Thread) -> backscroll.Thread:
    """Twenty turns with a tool: about 7,000 tokens."""
    thread.append("system", "You are careful.")
    work(thread, *range(20))
    return thread
