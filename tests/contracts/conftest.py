"""The contract kit: what every store must do, written once and run on each of them.

A test asks for `store` and runs twice, on an empty SQLite file and on an empty PostgreSQL database; `reopen()` gives
another handle on the same one, `store_url` its address. Handles are closed at the end of the test.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

STORES = [
    pytest.param("sqlite", id="sqlite"),
    pytest.param("postgres", id="postgres", marks=pytest.mark.postgres),
]


@pytest.fixture(params=STORES)
def store_url(request: pytest.FixtureRequest) -> str:
    """The address of an empty store, once for each kind there is."""
    return request.getfixturevalue({"sqlite": "sqlite_url", "postgres": "database_url"}[request.param])


@pytest.fixture
def reopen(store_url: str) -> Iterator[Callable[[], Any]]:
    """A function that opens one more handle on the test's store."""
    backscroll = pytest.importorskip("backscroll")
    with contextlib.ExitStack() as stack:

        def open_once_more() -> Any:
            return stack.enter_context(contextlib.closing(backscroll.open(store_url)))

        yield open_once_more


@pytest.fixture
def store(reopen: Callable[[], Any]) -> Any:
    """An open, empty store, once for each kind there is."""
    return reopen()
