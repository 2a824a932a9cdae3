"""The store for many processes and hosts: PostgreSQL through psycopg 3, hand-written SQL. Imported only when used."""

from __future__ import annotations

from backscroll.errors import MissingExtra

try:
    import psycopg  # noqa: F401  # pyright: ignore[reportUnusedImport] - every module here needs it; asked for once
except ImportError as error:
    raise MissingExtra(
        "a PostgreSQL store needs the driver psycopg, which is not installed or lacks its library",
        hint="pip install 'backscroll[postgres]'",
        cause=str(error),
    ) from error
