"""Tables of the SQLite store, as numbered migrations. A migration, once released, is never changed.

Names inside the file are numbers: a thread has a small number, and an event the key `number << 32 | sequence`, so that a
thread's log lies together on disk and the full-text index needs no second look-up.
"""

from __future__ import annotations

APPLICATION_ID = 0x42534352  # "BSCR": how we know our own files

MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE threads (
        no INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        root TEXT NOT NULL,
        parent TEXT,
        fork_seq INTEGER NOT NULL DEFAULT 0,
        fork_position BLOB,
        fork_message TEXT,
        head INTEGER NOT NULL,
        hash BLOB NOT NULL,
        messages INTEGER NOT NULL DEFAULT 0,
        turns INTEGER NOT NULL DEFAULT 0,
        created_at TEXT NOT NULL,
        updated_at TEXT NOT NULL,
        updated_us INTEGER NOT NULL,
        forgotten INTEGER NOT NULL DEFAULT 0,
        project TEXT NOT NULL DEFAULT '',
        kind TEXT NOT NULL DEFAULT '',
        about BLOB NOT NULL
    );
    CREATE INDEX threads_root ON threads (root);
    CREATE TABLE events (
        key INTEGER PRIMARY KEY,
        kind TEXT NOT NULL,
        actor TEXT NOT NULL,
        at TEXT NOT NULL,
        target INTEGER,
        head BLOB NOT NULL,
        salt BLOB,
        body BLOB,
        seal BLOB NOT NULL,
        hash BLOB NOT NULL,
        digest BLOB,
        said TEXT NOT NULL,
        said_us INTEGER NOT NULL,
        role TEXT NOT NULL,
        tools TEXT NOT NULL,
        doc INTEGER,
        undoable INTEGER NOT NULL DEFAULT 0
    );
    CREATE INDEX events_target ON events (target, key) WHERE target IS NOT NULL;
    CREATE INDEX events_undoable ON events (actor, key) WHERE undoable = 1;
    CREATE TABLE entries (
        thread INTEGER NOT NULL,
        position BLOB NOT NULL,
        since INTEGER NOT NULL,
        until INTEGER,
        message INTEGER NOT NULL,
        revision INTEGER NOT NULL,
        role TEXT NOT NULL,
        alternative INTEGER NOT NULL,
        alternatives INTEGER NOT NULL,
        flags INTEGER NOT NULL,
        strayed INTEGER NOT NULL,
        PRIMARY KEY (thread, position, since)
    ) WITHOUT ROWID;
    CREATE INDEX entries_strayed ON entries (thread, message, since) WHERE strayed = 1;
    CREATE TABLE blobs (digest TEXT PRIMARY KEY, data BLOB NOT NULL);
    CREATE TABLE blob_users (digest TEXT NOT NULL, event INTEGER NOT NULL, PRIMARY KEY (digest, event)) WITHOUT ROWID;
    CREATE TABLE origins (key BLOB PRIMARY KEY, thread TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE tokens (
        event INTEGER NOT NULL, tokenizer TEXT NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (event, tokenizer)
    ) WITHOUT ROWID;
    CREATE TABLE turn_states (
        thread INTEGER NOT NULL, opening INTEGER NOT NULL, version TEXT NOT NULL, processed_at TEXT NOT NULL,
        PRIMARY KEY (thread, opening)
    ) WITHOUT ROWID;
    CREATE VIRTUAL TABLE words USING fts5 (text, event UNINDEXED, tokenize = 'ascii');
    """,
)

VERSION = len(MIGRATIONS)
