"""Check a copy of a store file, and settle a file before it is moved."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from backscroll.errors import StoreCorrupt
from backscroll.stores.sqlite.database_file import address
from backscroll.stores.sqlite.faults import FAULTS


def check_copy(source: Path) -> None:
    """Raise unless a backup is a valid store, before it replaces another."""
    try:
        with closing(sqlite3.connect(address(source, "?mode=ro"), uri=True)) as connection:
            said = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
            count = connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'events'").fetchone()[
                0
            ]
    except FAULTS as error:
        raise StoreCorrupt(f"the backup cannot be read: {source}", hint="nothing was changed") from error
    if said != "ok" or not count:
        raise StoreCorrupt(f"the backup is damaged or is not a store: {source}", hint="nothing was changed")


def settle(store: Path) -> None:
    """Bring the write-ahead log of a store into its file, so that moving the file aside moves everything."""
    try:
        with closing(sqlite3.connect(store)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except FAULTS:
        return  # damaged: it is moved aside unchanged, with its write-ahead log
