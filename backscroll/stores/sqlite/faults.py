"""Translate SQLite's errors into errors that say what to do."""

from __future__ import annotations

import sqlite3

from backscroll.errors import StoreBusy, StoreCorrupt, StoreError

_SAYS: dict[int, tuple[type[StoreError], str, str]] = {
    sqlite3.SQLITE_BUSY: (StoreBusy, "another program holds the store", "nothing was written; try again"),
    sqlite3.SQLITE_LOCKED: (StoreBusy, "another program holds the store", "nothing was written; try again"),
    sqlite3.SQLITE_PROTOCOL: (StoreBusy, "another program holds the store", "nothing was written; try again"),
    sqlite3.SQLITE_TOOBIG: (
        StoreError,
        "one message or file is larger than SQLite can hold",
        "nothing was written; split it, or keep it outside and store its address",
    ),
    sqlite3.SQLITE_FULL: (
        StoreError,
        "the disk is full",
        "nothing was written and nothing lost; make room and try again",
    ),
    sqlite3.SQLITE_READONLY: (
        StoreError,
        "the store is read-only",
        "check the permissions of the file and its folder",
    ),
    sqlite3.SQLITE_PERM: (
        StoreError,
        "no permission for the store",
        "check the permissions of the file and its folder",
    ),
    sqlite3.SQLITE_AUTH: (
        StoreError,
        "no permission for the store",
        "check the permissions of the file and its folder",
    ),
    sqlite3.SQLITE_CANTOPEN: (
        StoreError,
        "the store cannot be opened",
        "check that the folder exists and is writable",
    ),
    sqlite3.SQLITE_IOERR: (
        StoreError,
        "the disk could not be read or written",
        "nothing was lost; check free space and the disk, then try again",
    ),
    sqlite3.SQLITE_CORRUPT: (
        StoreCorrupt,
        "the store file is damaged",
        "keep a copy of it, then run `backscroll verify`; `backscroll restore-backup` restores a backup",
    ),
    sqlite3.SQLITE_NOTADB: (
        StoreCorrupt,
        "this file is not a Backscroll store",
        "check the path given as store",
    ),
}


#: Errors of reading and writing a file; if SQLite quotes a damaged schema, Python cannot even decode the message.
FAULTS = (sqlite3.Error, UnicodeDecodeError)
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL)


def _code(error: Exception) -> int | None:
    """Return SQLite's error code; None if Python could not decode SQLite's output."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def is_busy(error: sqlite3.Error) -> bool:
    """Return True if waiting a little may help."""
    return _code(error) in _BUSY


def is_read_only(error: sqlite3.Error) -> bool:
    """Return True if only writing would have helped."""
    return _code(error) in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)


def translate_error(error: sqlite3.Error | UnicodeDecodeError, location: str) -> StoreError:
    """Return the error to raise instead; it names the file and says what to do."""
    code = _code(error)
    if code is None and isinstance(
        error, sqlite3.OperationalError | UnicodeDecodeError
    ):  # text that is not UTF-8
        code = sqlite3.SQLITE_CORRUPT
    unknown = (
        StoreError,
        f"the store failed ({error})",
        "run `backscroll verify` to see whether it is damaged",
    )
    kind, message, hint = _SAYS.get(code or 0, unknown)
    return kind(f"{message}: {location}", hint=hint, cause=str(error))
