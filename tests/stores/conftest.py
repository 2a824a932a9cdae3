"""What the tests of one store may ask for: PostgreSQL stores that share nothing, and somebody else's connection."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import backscroll
from backscroll.config import Settings
from backscroll.engine.engine import Engine
from tests import proof
from tests.stores import old_stores
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


@pytest.fixture
def old_file(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A file of the schema that the module is about."""
    return old_stores.old_file(tmp_path, request.module.SCHEMA)


@pytest.fixture
def old_database(request: pytest.FixtureRequest, database_url: str) -> str:
    """A database of the schema that the module is about."""
    return old_stores.old_database(database_url, request.module.SCHEMA)


@pytest.fixture(
    params=[
        pytest.param(("old_file", "sqlite"), id="sqlite"),
        pytest.param(("old_database", "postgres"), id="postgres", marks=pytest.mark.postgres),
    ]
)
def old(request: pytest.FixtureRequest) -> Iterator[tuple[Engine, str]]:
    """A store of that schema, opened by this version (with a worker where the module says so); sound at the end of the test."""
    fixture, kind = request.param
    worker = getattr(request.module, "WORKER", False)
    with backscroll.open(request.getfixturevalue(fixture), background=worker) as engine:
        yield engine, kind
        proof.assert_sound(engine)
