"""What the tests of one store may ask for: PostgreSQL stores that share nothing, and somebody else's connection."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from backscroll.config import Settings
from backscroll.engine.engine import Engine
from tests.stores.at_once import Opener


@pytest.fixture
def opened(database_url: str) -> Iterator[Opener]:
    """Opens engines that share nothing in this process, as if each were a program of its own."""
    pytest.importorskip("psycopg", reason="the extra `postgres` is not installed")
    from backscroll.stores.postgres.store import PostgresStore

    stores: list[PostgresStore] = []

    def one(url: str = database_url, **options: Any) -> Engine:
        stores.append(PostgresStore(url, **options))
        return Engine(stores[-1], Settings())

    yield one
    for store in stores:
        store.close()


@pytest.fixture
def engine(opened: Opener) -> Engine:
    return opened()


@pytest.fixture
def admin(database_url: str) -> Iterator[Any]:
    """Somebody else's connection to the same database."""
    psycopg = pytest.importorskip("psycopg", reason="the extra `postgres` is not installed")
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection
