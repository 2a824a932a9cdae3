"""Translate PostgreSQL's errors into ours, and tell transient ones apart. Never shows a password."""

from __future__ import annotations

import re

import psycopg

from backscroll.errors import StoreBusy, StoreCorrupt, StoreError

#: By prefix of the SQLSTATE; the first match wins.
_SAYS: tuple[tuple[str, type[StoreError], str, str], ...] = (
    ("22021", StoreError, "the server cannot hold this text", "it has characters that UTF-8 forbids"),
    ("23505", StoreError, "what should be new is already in the store", "nothing was written"),
    ("25006", StoreError, "the server only lets us read", "write to its primary, not to a standby"),
    (
        "26000",
        StoreError,
        "a pooler gives each transaction another session",
        "set postgres.pooler to transaction",
    ),
    ("28", StoreError, "the server refused the login", "check user and password (PGPASSWORD, ~/.pgpass)"),
    ("3D000", StoreError, "the database does not exist on the server", "create it first: createdb NAME"),
    ("3F000", StoreError, "the schema does not exist in the database", "create it: CREATE SCHEMA NAME"),
    ("40", StoreBusy, "other writers kept getting in the way", "nothing was written; try again"),
    ("42501", StoreError, "the login may not do this", "let the owner of the tables grant it"),
    (
        "42P05",
        StoreError,
        "a pooler gives each transaction another session",
        "set postgres.pooler to transaction",
    ),
    ("42P01", StoreCorrupt, "a table of the store is missing", "restore it from a backup of the server"),
    ("42703", StoreCorrupt, "a column of the store is missing", "restore it from a backup of the server"),
    ("53100", StoreError, "the server's disk is full", "nothing was written and nothing lost; make room"),
    ("53300", StoreBusy, "the server takes no more connections", "try again, or raise max_connections"),
    ("53", StoreError, "the server has run out of something", "nothing was written; look at its log"),
    ("54", StoreError, "this is larger than the server can hold", "nothing was written"),
    ("55P03", StoreBusy, "another writer held the thread for too long", "nothing was written; try again"),
    (
        "57014",
        StoreBusy,
        "the server stopped a statement that took too long",
        "raise postgres.statement_seconds",
    ),
    ("57P04", StoreError, "the database was dropped", "check the address of the store"),
    ("57P", StoreError, "the server is going down or coming up", "nothing was written; try again"),
    ("08", StoreError, "the connection to the server broke", "nothing was written; try again"),
    ("58", StoreError, "the server's disk did not take the write", "look at the server's log"),
    ("XX001", StoreCorrupt, "the server says that its files are damaged", "restore a backup of the server"),
    ("XX002", StoreCorrupt, "an index is damaged", "REINDEX it; the log itself is not touched by that"),
)
#: Messages before authentication have no SQLSTATE.
_AT_THE_DOOR = {
    "authentication failed|no password supplied|pg_hba.conf|role .* (does not exist|is not permitted)": "28",
    "permission denied for database": "42501",
    "database .* does not exist": "3D000",
    "too many clients|too many connections|remaining connection slots|no more connections allowed": "53300",
    "starting up|shutting down|not yet accepting connections|in recovery mode": "57P",
}


def unreachable(error: psycopg.Error, location: str) -> StoreError:
    """Return the error for a failed connection."""
    said = " ".join(str(error).split())
    for words, state in _AT_THE_DOOR.items():  # none matches if the server's messages are in another language
        if re.search(words, said):
            return _fault(state, location, said)
    return StoreError(
        f"cannot reach the server: {location}",
        hint=f"check that it runs, and the address of the store; the driver says: {said}",
        cause=said,
    )


def translate_error(error: psycopg.Error, location: str) -> StoreError:
    """Return the error to raise instead; it names the store and says what to do."""
    if error.sqlstate is not None:
        return _fault(error.sqlstate, location, str(error).strip())
    if isinstance(error, psycopg.OperationalError):
        return StoreError(
            f"the connection to the server broke: {location}",
            hint="nothing was written; try again",
            cause=str(error),
        )
    if isinstance(error, psycopg.DataError):
        return StoreError(f"the server cannot hold this: {error}", hint="nothing was written")
    return StoreError(f"the store failed: {error}: {location}", cause=str(error))


def _fault(state: str, location: str, said: str) -> StoreError:
    for beginning, kind, message, hint in _SAYS:
        if state.startswith(beginning):
            return kind(f"{message}: {location}", hint=hint, cause=said, state=state)
    return StoreError(f"the store failed: {said}: {location}", cause=said, state=state)


def is_collision(error: psycopg.Error) -> bool:
    """Return True if two writers collided and one was rolled back: a retry will succeed."""
    return error.sqlstate in ("40001", "40P01")


def cut_off(error: psycopg.Error) -> bool:
    """Return True if this error ends the connection; it may arrive before the connection closes.

    The driver can fail while it clears up after them: its error has no state, and theirs is the one behind it.
    """
    behind: BaseException | None = error
    while behind is not None:
        if isinstance(behind, psycopg.Error) and (behind.sqlstate or "").startswith(("57P", "08")):
            return True
        behind = behind.__cause__ or behind.__context__
    return False


def turned_away(fault: StoreError) -> bool:
    """Return True if the server is running but accepts no connections now: it is starting, stopping, or full."""
    return fault.facts.get("state") in ("53300", "57P")


def is_full(fault: StoreError) -> bool:
    """Return True if the server takes no more connections."""
    return fault.facts.get("state") == "53300"


def hopeless(fault: StoreError) -> bool:
    """Return True if waiting for the server would not help: wrong login, no such database."""
    return fault.facts.get("state") in ("28", "3D000")
