"""Stores that earlier versions of the program wrote, kept as SQL, brought back to life in a file or a database."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def old_file(folder: Path, version: int) -> str:
    """A file of an earlier schema."""
    path = folder / "old.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(_script(version, "sqlite"))
        connection.execute("PRAGMA journal_mode = WAL")
    return str(path)


def old_database(url: str, version: int) -> str:
    """A database of an earlier schema."""
    psycopg = pytest.importorskip("psycopg", reason="the extra `postgres` is not installed")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(_script(version, "postgres").encode())
    return url


def _script(version: int, kind: str) -> str:
    return (HERE / f"version_{version}" / f"{kind}.sql").read_text(encoding="utf-8")
