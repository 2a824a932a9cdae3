"""Open and migrate a store file; leave files that are not ours or too new untouched."""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from urllib.parse import quote

from backscroll.errors import StoreCorrupt, StoreError, StoreTooNew
from backscroll.logs import logger_of
from backscroll.stores.sqlite.faults import FAULTS, is_busy, is_read_only, translate_error
from backscroll.stores.sqlite.schema import APPLICATION_ID, MIGRATIONS, VERSION
from backscroll.stores.sqlite.word_index import register

_LOG = logger_of("stores")

_SMALLEST = 512  # bytes: no SQLite file is smaller
#: Page cache of a connection in kilobytes. Several connections read at once, and the operating system caches the file too.
READING, WRITING = 4_096, 16_384


def connect(path: Path, patience: float, read_only: bool, cache: int = READING) -> sqlite3.Connection:
    """Return a connection with our settings: manual transactions, a busy timeout, durable commits."""
    connection = sqlite3.connect(
        address(path, _manner(path) if read_only else ""),
        uri=True,
        isolation_level=None,
        check_same_thread=False,
        timeout=patience,
        cached_statements=256,
    )
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA fullfsync = 1")  # macOS: a plain fsync does not reach the disk
    connection.execute("PRAGMA secure_delete = ON")
    connection.execute(f"PRAGMA cache_size = -{cache}")
    connection.execute("PRAGMA temp_store = MEMORY")
    register(connection)
    return connection


def address(path: Path, manner: str) -> str:
    """Return a path as a SQLite URI with an open mode."""
    return f"file:{quote(os.fsencode(path))}{manner}"


def _manner(path: Path) -> str:
    """Return the open mode for a read-only file."""
    if os.access(path.parent, os.W_OK) or path.with_name(path.name + "-wal").exists():
        return "?mode=ro"
    # SQLite needs to create a lock file beside the store and cannot. Without a write-ahead log no process is writing
    # at this moment, so it can do without.
    return "?immutable=1"


def prepare(path: Path, patience: float) -> tuple[sqlite3.Connection, bool]:
    """Create or check the file and bring it to the current version.

    Returns a connection for reading, and whether the file is read-only.
    """
    try:
        fresh = _place_for(path)
    except OSError as error:
        raise _unreachable(path, error) from error
    read_only = not fresh and not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK))
    deadline = time.monotonic() + patience
    while True:
        try:
            return _prepare_connection(path, patience, read_only)
        except sqlite3.OperationalError as error:
            # While another process creates or recovers the file, SQLite answers "locked" without waiting.
            if not is_busy(error) or time.monotonic() > deadline:
                raise translate_error(error, str(path)) from error
            time.sleep(0.01)
        except FAULTS as error:
            raise translate_error(error, str(path)) from error
        except OSError as error:
            raise _unreachable(path, error) from error


def _unreachable(path: Path, error: OSError) -> StoreError:
    return StoreError(
        f"the store cannot be reached: {path}", hint=f"the system says: {error.strerror}", cause=str(error)
    )


def _place_for(path: Path) -> bool:
    """Return True if no store exists here yet and one may be created."""
    if "\0" in str(path):
        raise StoreError(f"not a path: {str(path)!r}", hint="a path cannot hold the character NUL")
    if path.is_dir():
        raise StoreError(
            f"the store is a folder: {path}", hint="name a file, such as backscroll.db in that folder"
        )
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        return True
    if not path.is_file():
        raise StoreError(f"the store is not a file: {path}", hint="name a file, such as backscroll.db")
    size = path.stat().st_size
    if 0 < size < _SMALLEST:  # SQLite treats a file of one byte as empty, and would overwrite it
        raise StoreCorrupt(
            f"this file is not a Backscroll store: {path}", hint="check the path given as store"
        )
    return size == 0


def _prepare_connection(path: Path, patience: float, read_only: bool) -> tuple[sqlite3.Connection, bool]:
    if not read_only:
        _look_first(path, patience)
    connection = connect(path, patience, read_only)
    try:
        found = _checked_version(connection, path)
        if found != VERSION and read_only:
            raise StoreError(
                f"the store needs migrating but is read-only: {path}",
                hint="make the file writable to migrate it",
            )
        if found != VERSION:
            _migrate(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection, read_only


def _look_first(path: Path, patience: float) -> None:
    """Check a file before connecting: closing it would merge its write-ahead log, which must not happen to a foreign file."""
    log = path.with_name(path.name + "-wal")
    if not log.exists() or not log.stat().st_size or _ours(path):
        return
    connection = connect(path, patience, read_only=True)
    try:
        _checked_version(connection, path)
    except sqlite3.OperationalError as error:
        if not is_read_only(error):
            raise
    finally:
        connection.close()


def _ours(path: Path) -> bool:
    """Return True if the file is marked as ours; while a store is being created, only its write-ahead log is."""
    with path.open("rb") as file:
        header = file.read(100)
    version, owner = header[60:64], header[68:72]
    return owner == APPLICATION_ID.to_bytes(4, "big") and int.from_bytes(version, "big") <= VERSION


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("BEGIN IMMEDIATE")
    found = _checked_version(connection, path)  # another process may have been faster
    if 0 < found < VERSION:
        _keep_copy(path, found)
    for script in MIGRATIONS[found:]:
        for statement in script.split(";\n"):
            if statement.strip():
                connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")
    _LOG.info("schema: from version %d to %d (sqlite)", found, VERSION)


def _checked_version(connection: sqlite3.Connection, path: Path) -> int:
    version, owner, tables = _facts(connection)
    if owner != APPLICATION_ID and (tables or owner):
        raise StoreCorrupt(
            f"this SQLite file belongs to another program: {path}",
            hint="check the path given as store; nothing was changed",
        )
    if version > VERSION:
        raise StoreTooNew(
            f"the store has schema {version}, this program knows up to {VERSION}: {path}",
            hint="update Backscroll; the file was left untouched",
        )
    if tables and version < 1:
        raise StoreCorrupt(
            f"the number of the schema is damaged: {path}",
            hint="keep a copy of the file; `backscroll restore-backup` restores a backup",
        )
    return version if tables else 0


def _facts(connection: sqlite3.Connection) -> tuple[int, int, int]:
    """Return schema number, owner and number of tables, consistently: another process may be creating the tables."""
    alone = not connection.in_transaction
    if alone:
        connection.execute("BEGIN")
    try:
        version: int = connection.execute("PRAGMA user_version").fetchone()[0]
        owner: int = connection.execute("PRAGMA application_id").fetchone()[0]
        tables: int = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    finally:
        if alone and connection.in_transaction:
            connection.execute("ROLLBACK")
    return version, owner, tables


def _keep_copy(path: Path, version: int) -> None:
    """Copy the file before a migration, locked against writers; an older copy stays."""
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    names = (f"{path.name}.schema{version}-{stamp}{n or ''}.backup" for n in count())
    target = next(place for name in names if not (place := path.with_name(name)).exists())
    with (
        closing(sqlite3.connect(address(path, "?mode=ro"), uri=True)) as now,
        closing(sqlite3.connect(target)) as copy,
    ):
        now.backup(copy)
