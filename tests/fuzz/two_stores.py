"""Fuzz the two stores against each other: the same seed on SQLite and on PostgreSQL does the same and tells the same.

The server is the one named by BACKSCROLL_TEST_POSTGRES, else one of this process, which is gone at its end. Where none can be
had there is nothing to compare, and a run says so.
"""

from __future__ import annotations

import atexit
import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from tests import postgres_server
from tests.fuzz import surfaces
from tests.fuzz.acts import act
from tests.fuzz.differential import some_words, told
from tests.fuzz.talk import Talk

SEEDS: Sequence[int] = ()  # `test_two_stores.py` runs some, on the server of the tests
OPERATIONS = 30


def fuzz(seed: int, folder: Path) -> None:
    """The same on both."""
    server = server_url()
    if server is None:
        return
    with fresh_database(server) as address:
        compare(seed, folder, address)


def compare(seed: int, folder: Path, address: str) -> None:
    """Do the same things to a file and to a database, and compare what was done and what is told."""
    one, other = (lived(seed, place) for place in (str(folder / "store.db"), address))
    parted = [(a, b) for a, b in zip(one[0], other[0], strict=False) if a != b]
    assert not parted, f"SQLite and PostgreSQL did not do the same: {parted[0]}"
    for name, here in one[1].items():
        surfaces.assert_same(here, other[1][name], f"{name[:8]} on PostgreSQL")


def lived(seed: int, place: str) -> tuple[list[str], dict[str, dict[str, Any]]]:
    """One store: what was done, and everything that it tells in the end."""
    with Talk(seed, place).told() as talk:
        dice = talk.dice
        for _ in range(dice.choice((1, 2))):
            name = talk.create(project="harbour")
            for _ in range(dice.choice((1, 3, 6))):
                talk.turn(name)
        for _ in range(OPERATIONS):
            act(talk)
        words = some_words(talk)
        return talk.trail, {name: told(talk, name, words) for name in talk.lines}


@cache
def server_url() -> str | None:
    """The server of this process; None where there can be none."""
    if given := os.environ.get("BACKSCROLL_TEST_POSTGRES"):
        return given
    folder = postgres_server.plan_folder()
    atexit.register(postgres_server.stop_server, folder)
    try:
        return postgres_server.ensure_server(folder, os.getpid())
    except postgres_server.ServerUnavailable as error:
        print(f"two_stores: no PostgreSQL to compare with: {error}")
        return None


@contextmanager
def fresh_database(server: str) -> Iterator[str]:
    """An empty database, dropped afterwards."""
    import psycopg
    from psycopg import sql

    name = f"backscroll_fuzz_{secrets.token_hex(6)}"
    database = sql.Identifier(name)
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8'").format(database))
    try:
        yield urlunsplit(urlsplit(server)._replace(path=f"/{name}"))
    finally:
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(database))
