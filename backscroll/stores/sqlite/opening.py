"""Opening a file: is it ours, is it too new, does it need migrating. What is not ours is left untouched."""

from __future__ import annotations

import os
import sqlite3
import time
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from backscroll.errors import StoreCorrupt, StoreError, StoreTooNew
from backscroll.stores.sqlite.faults import translated
from backscroll.stores.sqlite.schema import APPLICATION_ID, MIGRATIONS, VERSION


def connect(path: Path, patience: float, read_only: bool) -> sqlite3.Connection:
    """A connection with our settings: manual transactions, waits instead of failing, durable commits."""
    uri = f"file:{quote(str(path))}"
    if read_only:
        # Without a writable folder SQLite cannot share memory with writers; then nobody can write, and we may say so.
        uri += "?mode=ro" if os.access(path.parent, os.W_OK) else "?immutable=1"
    connection = sqlite3.connect(
        uri, uri=True, isolation_level=None, check_same_thread=False, timeout=patience, cached_statements=256
    )
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA fullfsync = 1")  # macOS: a plain fsync does not reach the disk
    connection.execute("PRAGMA secure_delete = ON")
    connection.execute("PRAGMA cache_size = -16384")
    connection.execute("PRAGMA temp_store = MEMORY")
    return connection


def prepare(path: Path, patience: float) -> tuple[sqlite3.Connection, bool]:
    """Create or check the file and bring it to the current version.

    Gives a connection that can be read from, and whether the file can only be read.
    """
    if path.is_dir():
        raise StoreError(
            f"the store is a folder: {path}", hint="name a file, such as backscroll.db in that folder"
        )
    fresh = not path.exists() or path.stat().st_size == 0
    if fresh:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"cannot create the folder of the store: {path.parent}", hint=str(error)
            ) from error
    read_only = not fresh and not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK))
    deadline = time.monotonic() + patience
    while True:
        try:
            return _prepared(path, patience, read_only)
        except sqlite3.OperationalError as error:
            # While another process creates or recovers the file, SQLite answers "locked" without waiting.
            busy = error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
            if not busy or time.monotonic() > deadline:
                raise translated(error, str(path)) from error
            time.sleep(0.01)
        except sqlite3.Error as error:
            raise translated(error, str(path)) from error


def _prepared(path: Path, patience: float, read_only: bool) -> tuple[sqlite3.Connection, bool]:
    connection = connect(path, patience, read_only)
    try:
        found = _checked_version(connection, path)
        if found != VERSION and read_only:
            raise StoreError(
                f"the store needs migrating but is read-only: {path}", hint="make the file writable once"
            )
        if found != VERSION:
            _migrate(connection, path, found)
    except BaseException:
        connection.close()
        raise
    return connection, read_only


def _migrate(connection: sqlite3.Connection, path: Path, found: int) -> None:
    connection.execute("PRAGMA journal_mode = WAL")
    if found:
        _keep_copy(connection, path, found)
    connection.execute("BEGIN IMMEDIATE")
    found = _checked_version(connection, path)  # another process may have been quicker
    for script in MIGRATIONS[found:]:
        for statement in script.split(";\n"):
            if statement.strip():
                connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")


def _checked_version(connection: sqlite3.Connection, path: Path) -> int:
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    owner = connection.execute("PRAGMA application_id").fetchone()[0]
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if tables and owner != APPLICATION_ID:
        raise StoreCorrupt(
            f"this SQLite file belongs to another program: {path}",
            hint="check the path given as store; nothing was changed",
        )
    if version > VERSION:
        raise StoreTooNew(
            f"the store has schema {version}, this program knows up to {VERSION}: {path}",
            hint="update Backscroll; the file was left untouched",
        )
    return version if tables else 0


def _keep_copy(connection: sqlite3.Connection, path: Path, version: int) -> None:
    """Before migrating, a copy of the file as it was."""
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    copy = sqlite3.connect(path.with_name(f"{path.name}.schema{version}-{stamp}.backup"))
    try:
        connection.backup(copy)
    finally:
        copy.close()
