"""Rewrite the file after a forget, and record that a rewrite is due.

The note is a row of `meta`, written in the erasing transaction: after a kill at any later moment, the next process to open
the file knows that old pages still hold the text. It is removed once the file is rewritten and the write-ahead log is empty,
and only if no process erased anything else meanwhile. The connection's owner sets the timeout.
"""

from __future__ import annotations

import secrets
import sqlite3

from backscroll.stores.sqlite.faults import is_busy, translate_error

NOTE = "scrub: file"
#: No process that opens the file can reach these.
OUT_OF_REACH = "copies of the store: backups, exports, snapshots of the disk"


def note_scrub(connection: sqlite3.Connection) -> None:
    """Record, in the current transaction, that text was erased from pages that are not rewritten yet."""
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (NOTE, secrets.token_hex(8)))


def read_note(connection: sqlite3.Connection) -> str | None:
    """Return the note, or None if nothing is due."""
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (NOTE,)).fetchone()
    return None if row is None else row[0]


def rewrite(connection: sqlite3.Connection, location: str) -> list[str]:
    """Merge the index, rewrite the file and empty the write-ahead log; return what still holds the text."""
    try:
        note = read_note(connection)
        connection.execute("INSERT INTO words (words) VALUES ('optimize')")
        connection.execute("VACUUM")
        busy = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        if not busy and note is not None:
            connection.execute("DELETE FROM meta WHERE key = ? AND value = ?", (NOTE, note))
    except sqlite3.OperationalError as error:
        # The text is erased; only the rewrite of the file failed.
        if not is_busy(error):
            return [f"freed pages of the file: {translate_error(error, location).message}"]
        busy = True
    if busy:
        return ["freed pages of the file, while another program uses it: the next opening rewrites them"]
    return []
