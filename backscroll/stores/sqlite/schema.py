"""Tables of the SQLite store, as numbered migrations. A migration, once released, is never changed.

Names inside the file are numbers: a thread has a small number, and an event the key `number << 32 | sequence`, so that a
thread's log is contiguous on disk and the full-text index needs no second lookup.
"""

from __future__ import annotations

APPLICATION_ID = 0x42534352  # "BSCR": the mark of our own files

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
    # What is derived from the log, and finding the few events and messages that every prompt asks for. `signs` numbers
    # its rows in ascending order: a reader only needs rows after the last number read.
    """
    ALTER TABLE events ADD COLUMN unpacked INTEGER NOT NULL DEFAULT 0;
    CREATE INDEX events_others ON events (key) WHERE kind NOT IN ('appended', 'aside');
    CREATE INDEX entries_marked ON entries (thread, position, since)
        WHERE (role = 'system' OR flags & 4) AND NOT flags & 9;
    CREATE TABLE made (
        no INTEGER PRIMARY KEY,
        key BLOB NOT NULL UNIQUE,
        recipe TEXT NOT NULL,
        thread INTEGER NOT NULL,
        sources BLOB NOT NULL,
        at TEXT NOT NULL,
        body BLOB NOT NULL
    );
    CREATE INDEX made_of_made ON made (thread) WHERE sources = x'';
    CREATE TABLE made_from (
        source INTEGER NOT NULL, made INTEGER NOT NULL, PRIMARY KEY (source, made)
    ) WITHOUT ROWID;
    CREATE TABLE replies (
        no INTEGER PRIMARY KEY,
        key BLOB NOT NULL UNIQUE,
        recipe TEXT NOT NULL,
        thread INTEGER NOT NULL,
        model TEXT NOT NULL,
        sources BLOB NOT NULL,
        at TEXT NOT NULL,
        body BLOB NOT NULL
    );
    CREATE INDEX replies_thread ON replies (thread);
    CREATE TABLE replies_from (
        source INTEGER NOT NULL, reply INTEGER NOT NULL, PRIMARY KEY (source, reply)
    ) WITHOUT ROWID;
    CREATE TABLE encoders (no INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, size INTEGER NOT NULL);
    CREATE TABLE signs (
        no INTEGER PRIMARY KEY AUTOINCREMENT,
        encoder INTEGER NOT NULL,
        event INTEGER NOT NULL,
        said_us INTEGER NOT NULL,
        role INTEGER NOT NULL,
        bits BLOB NOT NULL
    );
    CREATE UNIQUE INDEX signs_event ON signs (event, encoder);
    CREATE TABLE vectors (no INTEGER PRIMARY KEY, half BLOB NOT NULL);
    CREATE TABLE nodes (
        thread INTEGER NOT NULL,
        level INTEGER NOT NULL,
        opening INTEGER NOT NULL,
        position BLOB NOT NULL,
        end BLOB NOT NULL,
        version TEXT NOT NULL,
        key BLOB NOT NULL,
        turns INTEGER NOT NULL,
        messages INTEGER NOT NULL,
        PRIMARY KEY (thread, level, opening)
    ) WITHOUT ROWID;
    CREATE INDEX nodes_position ON nodes (thread, level, position);
    CREATE TABLE progress (
        recipe TEXT NOT NULL,
        thread INTEGER NOT NULL,
        seen INTEGER NOT NULL DEFAULT 0,
        worker TEXT NOT NULL DEFAULT '',
        until_us INTEGER NOT NULL DEFAULT 0,
        afresh INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (recipe, thread)
    ) WITHOUT ROWID;
    CREATE TABLE charges (
        id TEXT PRIMARY KEY,
        at TEXT NOT NULL,
        at_us INTEGER NOT NULL,
        day TEXT NOT NULL,
        model TEXT NOT NULL,
        provider TEXT NOT NULL,
        purpose TEXT NOT NULL,
        thread TEXT NOT NULL,
        task TEXT NOT NULL,
        turn INTEGER,
        input INTEGER NOT NULL,
        cached INTEGER NOT NULL,
        written INTEGER NOT NULL,
        output INTEGER NOT NULL,
        reasoning INTEGER NOT NULL,
        nano INTEGER,
        estimated INTEGER NOT NULL
    );
    CREATE INDEX charges_at ON charges (at_us);
    CREATE INDEX charges_day ON charges (day);
    CREATE INDEX charges_thread ON charges (thread, at_us);
    CREATE TABLE lessons (
        thread TEXT NOT NULL,
        at_us INTEGER NOT NULL,
        feature TEXT NOT NULL,
        at TEXT NOT NULL,
        amount REAL NOT NULL,
        PRIMARY KEY (thread, at_us, feature)
    ) WITHOUT ROWID;
    CREATE TABLE receipts (
        thread INTEGER NOT NULL, no INTEGER NOT NULL, at TEXT NOT NULL, body BLOB NOT NULL, PRIMARY KEY (thread, no)
    );
    """,
    # Turns under analysis: since when each is due and settled, under which settings.
    """
    CREATE TABLE turn_marks (
        thread INTEGER NOT NULL,
        rule TEXT NOT NULL,
        opening INTEGER NOT NULL,
        position BLOB NOT NULL,
        due INTEGER NOT NULL,
        pinned INTEGER NOT NULL,
        gone INTEGER NOT NULL,
        ends BLOB NOT NULL,
        version TEXT NOT NULL,
        key BLOB NOT NULL,
        sources BLOB NOT NULL,
        PRIMARY KEY (thread, rule, opening)
    ) WITHOUT ROWID;
    CREATE INDEX turn_marks_position ON turn_marks (thread, rule, position);
    """,
    # Rows that `verify --repair` took out of the other tables, as they were; `thread` and `seq` let `forget` reach them.
    """
    CREATE TABLE quarantine (
        no INTEGER PRIMARY KEY AUTOINCREMENT,
        at TEXT NOT NULL,
        reason TEXT NOT NULL,
        source TEXT NOT NULL,
        thread TEXT NOT NULL,
        seq INTEGER NOT NULL,
        held BLOB NOT NULL
    );
    CREATE INDEX quarantine_thread ON quarantine (thread, seq);
    """,
    # The word index keeps no copy of the words: they follow from the bodies (`word_index`). `recipe` names the method.
    # An event that is waiting for the index has 0 as its number there.
    """
    CREATE TABLE indexed (doc INTEGER PRIMARY KEY, event INTEGER NOT NULL, recipe INTEGER NOT NULL);
    INSERT INTO indexed SELECT c.id, c.c1, words_recipe(c.c0, v.body, v.unpacked)
        FROM words_content c LEFT JOIN events v ON v.key = c.c1 WHERE typeof(c.c1) = 'integer' ORDER BY c.id;
    CREATE VIEW indexed_words AS SELECT i.doc AS doc, index_words(v.body, v.unpacked) AS text
        FROM indexed i JOIN events v ON v.key = i.event;
    CREATE VIRTUAL TABLE words_alone USING fts5 (
        text, content = 'indexed_words', content_rowid = 'doc', tokenize = 'ascii'
    );
    INSERT INTO words_alone (words_alone, rank) VALUES ('hashsize', 16777216);
    INSERT INTO words_alone (rowid, text) SELECT id, c0 FROM words_content WHERE typeof(c1) = 'integer' ORDER BY id;
    DROP TABLE words;
    ALTER TABLE words_alone RENAME TO words;
    CREATE INDEX events_waiting ON events (key) WHERE doc = 0;
    """,
    # The user of a thread and the caller's key. No index includes a column that an append changes.
    """
    ALTER TABLE threads ADD COLUMN person TEXT NOT NULL DEFAULT '';
    ALTER TABLE threads ADD COLUMN own_key TEXT NOT NULL DEFAULT '';
    CREATE INDEX threads_person ON threads (person) WHERE person <> '';
    CREATE INDEX threads_own_key ON threads (own_key) WHERE own_key <> '';
    CREATE INDEX threads_project ON threads (project) WHERE project <> '';
    """,
)

VERSION = len(MIGRATIONS)
