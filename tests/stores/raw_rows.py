"""Rows of a store changed behind the program's back, by the names that both stores share for tables and columns."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from typing import Any

LAST = 0xFFFFFFFF


def is_postgres(url: str) -> bool:
    """True for the address of a server."""
    return url.startswith("postgres")


def ask(url: str, sql: str, *values: object) -> list[tuple[Any, ...]]:
    """The rows of a question."""
    if is_postgres(url):
        import psycopg

        with psycopg.connect(url) as connection:
            return connection.execute(sql.encode(), values).fetchall()
    with closing(sqlite3.connect(url)) as file:
        return file.execute(sql, values).fetchall()


def tell(url: str, sql: str, *values: object) -> int:
    """Do something; gives how many rows it touched."""
    if is_postgres(url):
        import psycopg

        with psycopg.connect(url) as connection:
            return connection.execute(sql.encode(), values).rowcount
    with closing(sqlite3.connect(url)) as file:
        count = file.execute(sql, values).rowcount
        file.commit()
        return count


def tables_of(url: str) -> dict[str, list[str]]:
    """Every table of the store with its columns; a full-text index and its parts hold nothing of their own."""
    if is_postgres(url):
        sql = (
            "SELECT table_name, column_name FROM information_schema.columns WHERE table_name LIKE 'backscroll\\_%%' "
            "AND table_schema = current_schema() ORDER BY table_name, ordinal_position"
        )
        out: dict[str, list[str]] = {}
        for table, column in ask(url, sql):
            out.setdefault(table.removeprefix("backscroll_"), []).append(column)
        return out
    names = [row[0] for row in ask(url, "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
    ours = [n for n in names if n != "words" and not n.startswith(("sqlite_", "words_"))]
    return {name: [row[1] for row in ask(url, f"PRAGMA table_info({name})")] for name in ours}


def change(url: str, table: str, where: Mapping[str, Any], column: str, value: object) -> None:
    """Put a value into one column of one row."""
    if is_postgres(url):
        clause = " AND ".join(f"{name} = %s" for name in where)
        sql, found = f"UPDATE backscroll_{table} SET {column} = %s WHERE {clause}", list(where.values())
    elif table == "events":
        number = ask(url, "SELECT no FROM threads WHERE id = ?", where["thread"])[0][0]
        sql, found = f"UPDATE events SET {column} = ? WHERE key = ?", [number << 32 | where["seq"]]
    else:
        clause = " AND ".join(f"{name} = ?" for name in where)
        sql, found = f"UPDATE {table} SET {column} = ? WHERE {clause}", list(where.values())
    assert tell(url, sql, value, *found) == 1
