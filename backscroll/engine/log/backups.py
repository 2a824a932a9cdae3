"""Backups: copy a store consistently, and restore a copy without losing the current store."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path

from backscroll.errors import Conflict, NotFound, StoreError
from backscroll.record.ports import Store
from backscroll.stores.sqlite.copies import check_copy, settle


def backup(store: Store, target: Path) -> None:
    """Copy the store into a new file; an existing file is never overwritten."""
    if target.exists():
        raise Conflict(
            f"the file already exists: {target}", hint="name a new file; backups are never overwritten"
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
    """Replace a store file with a backup. The current file is moved aside first; return its new name.

    No program may have the store open meanwhile.
    """
    if not source.is_file():
        raise NotFound(f"no such backup: {source}", hint="check the path")

    check_copy(source)
    aside: Path | None = None
    if store.exists():
        stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
        aside = store.with_name(f"{store.name}.before-restore-{stamp}")
        if aside.exists():
            raise Conflict(f"the file already exists: {aside}", hint="wait a second and try again")
        settle(store)
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
