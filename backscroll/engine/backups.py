"""Backups: a consistent copy of a store, and bringing one back without losing what is there."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from backscroll.errors import Conflict, NotFound, StoreCorrupt, StoreError
from backscroll.record.ports import Store


def backup(store: Store, target: Path) -> None:
    """Copy the store into a new file; an existing file is never overwritten."""
    if target.exists():
        raise Conflict(
            f"the file is there already: {target}", hint="name a new file; backups are never overwritten"
        )
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot create {target.parent}: {error.strerror}") from error
    unfinished = target.with_name(target.name + ".unfinished")
    try:
        store.backup(str(unfinished))
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)


def restore_backup(source: Path, store: Path) -> Path | None:
    """Put a backup in the place of a store file. What was there is moved aside first; gives its new name.

    No program may have the store open meanwhile.
    """
    if not source.is_file():
        raise NotFound(f"no such backup: {source}", hint="check the path")
    _check(source)
    aside: Path | None = None
    if store.exists():
        stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
        aside = store.with_name(f"{store.name}.before-restore-{stamp}")
        if aside.exists():
            raise Conflict(f"the file is there already: {aside}", hint="wait a second and try again")
        _settle(store)
    store.parent.mkdir(parents=True, exist_ok=True)
    incoming = store.with_name(store.name + ".incoming")
    try:
        shutil.copyfile(source, incoming)
        if aside is not None:
            store.replace(aside)
            for suffix in ("-wal", "-shm"):
                beside = store.with_name(store.name + suffix)
                if beside.exists():
                    beside.replace(aside.with_name(aside.name + suffix))
        incoming.replace(store)
    except OSError as error:
        raise StoreError(f"cannot restore into {store}: {error.strerror}", hint="nothing was lost") from error
    finally:
        incoming.unlink(missing_ok=True)
    return aside


def _check(source: Path) -> None:
    """A backup must be a sound store before it takes the place of another."""
    try:
        with closing(sqlite3.connect(f"file:{source}?mode=ro", uri=True)) as connection:
            said = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
            count = connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'events'").fetchone()[
                0
            ]
    except sqlite3.Error as error:
        raise StoreCorrupt(f"the backup cannot be read: {source}", hint="nothing was changed") from error
    if said != "ok" or not count:
        raise StoreCorrupt(f"the backup is damaged or is no store: {source}", hint="nothing was changed")


def _settle(store: Path) -> None:
    """Bring the write-ahead log of a store into its file, so that moving the file aside moves everything."""
    try:
        with closing(sqlite3.connect(store)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.Error:
        return  # damaged: it is moved aside as it is, together with its write-ahead log
