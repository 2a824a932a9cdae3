"""Where a PostgreSQL server keeps the files of one database: of this one alone, since other tests write into theirs."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest


def folder_of(url: str) -> Path:
    """The folder of the database behind an address; the test is skipped where it cannot be read."""
    psycopg = pytest.importorskip("psycopg", reason="the extra `postgres` is not installed")
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute("SELECT oid FROM pg_database WHERE datname = current_database()").fetchone()
    assert row is not None
    host = psycopg.conninfo.conninfo_to_dict(url).get("host", "")
    folder = Path(host) / "data" / "base" / str(row[0])
    with contextlib.suppress(PermissionError):
        if folder.is_dir():
            return folder
    pytest.skip("the files of this server cannot be read from here")
