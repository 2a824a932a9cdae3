"""Tables of the PostgreSQL store, as numbered migrations. A migration, once released, is never changed.

Every key begins with the tenant, and every key of a log goes on with the *root*: the thread that a family of forks started
from. So a sharded PostgreSQL can distribute each table on one column (`DISTRIBUTED_BY`), a family lies on one shard, and no
transaction of one thread leaves it, except for attached bytes. No sequence is used: numbers come from the log.

- Text is stored in `bytea`, the only type that holds every text (`text` refuses NUL, `jsonb` lone surrogates as well).
- Text in keys is compared byte by byte (`COLLATE "C"`): an index must survive an upgrade of the server's locales.
- Columns that hold words, or hashes of them, keep no statistics: `forget` could not reach the planner's samples.
- Vectors are `halfvec` where the extension pgvector was there (or could be created) when the tables were made.
- `active` is the hour of the last change. It is what listings are indexed by: the exact time changes with every append, and
  a row whose indexed columns stay as they are is updated without touching an index.
- Where two indexes look equally good, as they do while tables are small, the planner takes the newer one. So the one that
  is right for questions that both could answer is made last.
"""

from __future__ import annotations

#: Placeholder in scripts for the vector type: `halfvec` if the extension pgvector is available, else plain bytes.
HALF = "<half>"

MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE backscroll_meta (
        tenant text COLLATE "C" NOT NULL, key text COLLATE "C" NOT NULL, value text NOT NULL, PRIMARY KEY (tenant, key)
    );
    CREATE TABLE backscroll_directory (
        tenant text COLLATE "C" NOT NULL, thread uuid NOT NULL, root uuid NOT NULL, PRIMARY KEY (tenant, thread)
    );
    CREATE TABLE backscroll_threads (
        tenant text COLLATE "C" NOT NULL,
        root uuid NOT NULL,
        id uuid NOT NULL,
        born integer NOT NULL,
        parent uuid,
        fork_seq bigint NOT NULL DEFAULT 0,
        fork_position bytea,
        fork_message text,
        head bigint NOT NULL,
        hash bytea NOT NULL,
        messages bigint NOT NULL DEFAULT 0,
        turns bigint NOT NULL DEFAULT 0,
        created_at text NOT NULL,
        updated_at text NOT NULL,
        updated_us bigint NOT NULL,
        active bigint NOT NULL,
        forgotten boolean NOT NULL DEFAULT false,
        project text COLLATE "C" NOT NULL DEFAULT '',
        kind text COLLATE "C" NOT NULL DEFAULT '',
        about bytea NOT NULL
    ) WITH (fillfactor = 50);
    CREATE INDEX backscroll_threads_active ON backscroll_threads (tenant, active);
    CREATE INDEX backscroll_threads_project ON backscroll_threads (tenant, left(project, 100), active);
    ALTER TABLE backscroll_threads ADD PRIMARY KEY (tenant, root, id);
    CREATE TABLE backscroll_events (
        tenant text COLLATE "C" NOT NULL,
        root uuid NOT NULL,
        thread uuid NOT NULL,
        seq bigint NOT NULL,
        target_thread uuid,
        target_seq bigint,
        said_us bigint NOT NULL,
        undoable boolean NOT NULL DEFAULT false,
        kind text COLLATE "C" NOT NULL,
        role text COLLATE "C" NOT NULL,
        actor text COLLATE "C" NOT NULL,
        at text NOT NULL,
        said text NOT NULL,
        tools text[] NOT NULL,
        seal bytea NOT NULL,
        hash bytea NOT NULL,
        digest bytea,
        salt bytea,
        head bytea NOT NULL,
        body bytea,
        PRIMARY KEY (tenant, root, thread, seq)
    );
    CREATE INDEX backscroll_events_target ON backscroll_events (tenant, root, target_thread, target_seq)
        WHERE target_seq IS NOT NULL;
    CREATE INDEX backscroll_events_undoable ON backscroll_events (tenant, root, thread, seq) WHERE undoable;
    CREATE TABLE backscroll_entries (
        tenant text COLLATE "C" NOT NULL,
        root uuid NOT NULL,
        thread uuid NOT NULL,
        message_thread uuid NOT NULL,
        revision_thread uuid NOT NULL,
        message_seq bigint NOT NULL,
        revision_seq bigint NOT NULL,
        since bigint NOT NULL,
        until bigint,
        alternative integer NOT NULL,
        alternatives integer NOT NULL,
        flags integer NOT NULL,
        strayed boolean NOT NULL,
        role text COLLATE "C" NOT NULL,
        position bytea NOT NULL,
        PRIMARY KEY (tenant, root, thread, position, since)
    );
    CREATE INDEX backscroll_entries_strayed
        ON backscroll_entries (tenant, root, thread, message_thread, message_seq, since) WHERE strayed;
    CREATE TABLE backscroll_words (
        tenant text COLLATE "C" NOT NULL,
        root uuid NOT NULL,
        thread uuid NOT NULL,
        seq bigint NOT NULL,
        said_us bigint NOT NULL,
        role text COLLATE "C" NOT NULL,
        words tsvector NOT NULL,
        spelled text
    );
    CREATE INDEX backscroll_words_found ON backscroll_words USING gin (words) WITH (gin_pending_list_limit = 1024);
    CREATE INDEX backscroll_words_newest ON backscroll_words (tenant, said_us);
    ALTER TABLE backscroll_words ADD PRIMARY KEY (tenant, root, thread, seq);
    CREATE TABLE backscroll_tokens (
        tenant text COLLATE "C" NOT NULL,
        root uuid NOT NULL,
        thread uuid NOT NULL,
        seq bigint NOT NULL,
        tokenizer text COLLATE "C" NOT NULL,
        count bigint NOT NULL,
        PRIMARY KEY (tenant, root, thread, seq, tokenizer)
    );
    CREATE TABLE backscroll_turns (
        tenant text COLLATE "C" NOT NULL,
        root uuid NOT NULL,
        thread uuid NOT NULL,
        opening_thread uuid NOT NULL,
        opening_seq bigint NOT NULL,
        version text NOT NULL,
        processed_at text NOT NULL,
        PRIMARY KEY (tenant, root, thread, opening_thread, opening_seq)
    );
    CREATE TABLE backscroll_origins (
        tenant text COLLATE "C" NOT NULL, key bytea NOT NULL, thread uuid, PRIMARY KEY (tenant, key)
    );
    CREATE TABLE backscroll_blobs (
        tenant text COLLATE "C" NOT NULL, digest text COLLATE "C" NOT NULL, data bytea NOT NULL, PRIMARY KEY (tenant, digest)
    );
    CREATE TABLE backscroll_blob_users (
        tenant text COLLATE "C" NOT NULL,
        digest text COLLATE "C" NOT NULL,
        thread uuid NOT NULL,
        seq bigint NOT NULL,
        PRIMARY KEY (tenant, digest, thread, seq)
    );
    CREATE INDEX backscroll_blob_users_event ON backscroll_blob_users (tenant, thread, seq);
    ALTER TABLE backscroll_blobs ALTER COLUMN data SET STORAGE EXTERNAL, ALTER COLUMN data SET STATISTICS 0;
    ALTER TABLE backscroll_events
        ALTER COLUMN body SET STATISTICS 0,
        ALTER COLUMN salt SET STATISTICS 0,
        ALTER COLUMN digest SET STATISTICS 0,
        ALTER COLUMN tools SET STATISTICS 0;
    ALTER TABLE backscroll_threads
        ALTER COLUMN about SET STATISTICS 0,
        ALTER COLUMN project SET STATISTICS 0;
    ALTER TABLE backscroll_words ALTER COLUMN words SET STATISTICS 0, ALTER COLUMN spelled SET STATISTICS 0;
    """,
    # What is derived from the log, and finding the few events and messages that every prompt asks for. Artefacts are
    # looked up by their keys alone, so they are spread by them; which of them go with a revision lies with the revision.
    f"""
    CREATE INDEX backscroll_events_others ON backscroll_events (tenant, root, thread, seq)
        WHERE kind NOT IN ('appended', 'aside');
    CREATE INDEX backscroll_entries_marked ON backscroll_entries (tenant, root, thread, position)
        WHERE (role = 'system' OR flags & 4 <> 0) AND flags & 9 = 0;
    CREATE TABLE backscroll_made (
        tenant text COLLATE "C" NOT NULL,
        key bytea NOT NULL,
        thread uuid NOT NULL,
        recipe text COLLATE "C" NOT NULL,
        at text NOT NULL,
        source_roots uuid[] NOT NULL,
        source_threads uuid[] NOT NULL,
        source_seqs bigint[] NOT NULL,
        body bytea NOT NULL,
        PRIMARY KEY (tenant, key)
    );
    CREATE INDEX backscroll_made_of_made ON backscroll_made (tenant, thread) WHERE source_seqs = '{{}}';
    CREATE TABLE backscroll_made_from (
        tenant text COLLATE "C" NOT NULL,
        root uuid NOT NULL,
        thread uuid NOT NULL,
        seq bigint NOT NULL,
        key bytea NOT NULL,
        PRIMARY KEY (tenant, root, thread, seq, key)
    );
    CREATE TABLE backscroll_replies (
        tenant text COLLATE "C" NOT NULL,
        key bytea NOT NULL,
        thread uuid NOT NULL,
        recipe text COLLATE "C" NOT NULL,
        model text COLLATE "C" NOT NULL,
        at text NOT NULL,
        source_roots uuid[] NOT NULL,
        source_threads uuid[] NOT NULL,
        source_seqs bigint[] NOT NULL,
        body bytea NOT NULL,
        PRIMARY KEY (tenant, key)
    );
    CREATE INDEX backscroll_replies_thread ON backscroll_replies (tenant, thread);
    CREATE TABLE backscroll_replies_from (
        tenant text COLLATE "C" NOT NULL,
        root uuid NOT NULL,
        thread uuid NOT NULL,
        seq bigint NOT NULL,
        key bytea NOT NULL,
        PRIMARY KEY (tenant, root, thread, seq, key)
    );
    CREATE TABLE backscroll_encoders (
        tenant text COLLATE "C" NOT NULL, name text COLLATE "C" NOT NULL, size bigint NOT NULL, PRIMARY KEY (tenant, name)
    );
    CREATE TABLE backscroll_vectors (
        tenant text COLLATE "C" NOT NULL,
        root uuid NOT NULL,
        thread uuid NOT NULL,
        seq bigint NOT NULL,
        said_us bigint NOT NULL,
        encoder text COLLATE "C" NOT NULL,
        role text COLLATE "C" NOT NULL,
        half {HALF} NOT NULL,
        PRIMARY KEY (tenant, root, thread, seq, encoder)
    );
    CREATE TABLE backscroll_nodes (
        tenant text COLLATE "C" NOT NULL,
        root uuid NOT NULL,
        thread uuid NOT NULL,
        level bigint NOT NULL,
        opening_thread uuid NOT NULL,
        opening_seq bigint NOT NULL,
        turns bigint NOT NULL,
        messages bigint NOT NULL,
        position bytea NOT NULL,
        ends bytea NOT NULL,
        version text NOT NULL,
        key bytea NOT NULL,
        PRIMARY KEY (tenant, root, thread, level, opening_thread, opening_seq)
    );
    CREATE INDEX backscroll_nodes_position ON backscroll_nodes (tenant, root, thread, level, position);
    CREATE TABLE backscroll_progress (
        tenant text COLLATE "C" NOT NULL,
        root uuid NOT NULL,
        thread uuid NOT NULL,
        recipe text COLLATE "C" NOT NULL,
        seen bigint NOT NULL DEFAULT 0,
        until_us bigint NOT NULL DEFAULT 0,
        worker text NOT NULL DEFAULT '',
        afresh boolean NOT NULL DEFAULT false,
        PRIMARY KEY (tenant, root, thread, recipe)
    ) WITH (fillfactor = 50);
    CREATE TABLE backscroll_charges (
        tenant text COLLATE "C" NOT NULL,
        id text COLLATE "C" NOT NULL,
        at text NOT NULL,
        at_us bigint NOT NULL,
        day text COLLATE "C" NOT NULL,
        model text COLLATE "C" NOT NULL,
        provider text COLLATE "C" NOT NULL,
        purpose text COLLATE "C" NOT NULL,
        thread text COLLATE "C" NOT NULL,
        task text COLLATE "C" NOT NULL,
        turn bigint,
        input bigint NOT NULL,
        cached bigint NOT NULL,
        written bigint NOT NULL,
        output bigint NOT NULL,
        reasoning bigint NOT NULL,
        nano bigint,
        estimated boolean NOT NULL,
        PRIMARY KEY (tenant, id)
    );
    CREATE INDEX backscroll_charges_day ON backscroll_charges (tenant, day);
    CREATE INDEX backscroll_charges_thread ON backscroll_charges (tenant, thread, at_us);
    CREATE INDEX backscroll_charges_at ON backscroll_charges (tenant, at_us);
    CREATE TABLE backscroll_lessons (
        tenant text COLLATE "C" NOT NULL,
        thread text COLLATE "C" NOT NULL,
        at_us bigint NOT NULL,
        feature text COLLATE "C" NOT NULL,
        at text NOT NULL,
        amount double precision NOT NULL,
        PRIMARY KEY (tenant, thread, at_us, feature)
    );
    CREATE TABLE backscroll_receipts (
        tenant text COLLATE "C" NOT NULL,
        root uuid NOT NULL,
        thread uuid NOT NULL,
        no bigint NOT NULL,
        at text NOT NULL,
        body bytea NOT NULL,
        PRIMARY KEY (tenant, root, thread, no)
    );
    ALTER TABLE backscroll_made ALTER COLUMN key SET STATISTICS 0, ALTER COLUMN body SET STATISTICS 0;
    ALTER TABLE backscroll_made_from ALTER COLUMN key SET STATISTICS 0;
    ALTER TABLE backscroll_replies ALTER COLUMN key SET STATISTICS 0, ALTER COLUMN body SET STATISTICS 0;
    ALTER TABLE backscroll_replies_from ALTER COLUMN key SET STATISTICS 0;
    ALTER TABLE backscroll_vectors ALTER COLUMN half SET STATISTICS 0, ALTER COLUMN half SET STORAGE MAIN;
    ALTER TABLE backscroll_nodes ALTER COLUMN key SET STATISTICS 0, ALTER COLUMN version SET STATISTICS 0;
    ALTER TABLE backscroll_receipts ALTER COLUMN body SET STATISTICS 0;
    """,
    # Turns under analysis: since when each is due and settled, under which settings.
    """
    CREATE TABLE backscroll_turn_marks (
        tenant text COLLATE "C" NOT NULL,
        root uuid NOT NULL,
        thread uuid NOT NULL,
        rule text COLLATE "C" NOT NULL,
        opening_thread uuid NOT NULL,
        opening_seq bigint NOT NULL,
        due bigint NOT NULL,
        pinned bigint NOT NULL,
        gone boolean NOT NULL,
        position bytea NOT NULL,
        ends bytea NOT NULL,
        version text NOT NULL,
        key bytea NOT NULL,
        source_threads uuid[] NOT NULL,
        source_seqs bigint[] NOT NULL,
        PRIMARY KEY (tenant, root, thread, rule, opening_thread, opening_seq)
    );
    CREATE INDEX backscroll_turn_marks_position ON backscroll_turn_marks (tenant, root, thread, rule, position);
    ALTER TABLE backscroll_turn_marks ALTER COLUMN key SET STATISTICS 0, ALTER COLUMN version SET STATISTICS 0;
    """,
    # Rows that `verify --repair` took out of the other tables, as they were; `thread` and `seq` let `forget` reach them.
    """
    CREATE TABLE backscroll_quarantine (
        tenant text COLLATE "C" NOT NULL,
        thread text COLLATE "C" NOT NULL,
        no bigint NOT NULL,
        seq bigint NOT NULL,
        at text NOT NULL,
        reason text NOT NULL,
        source text COLLATE "C" NOT NULL,
        held bytea NOT NULL,
        PRIMARY KEY (tenant, thread, no)
    );
    ALTER TABLE backscroll_quarantine ALTER COLUMN held SET STATISTICS 0;
    """,
    # The user of a thread and the caller's key. No index includes a column that an append changes.
    """
    ALTER TABLE backscroll_threads
        ADD COLUMN person text COLLATE "C" NOT NULL DEFAULT '',
        ADD COLUMN own_key text COLLATE "C" NOT NULL DEFAULT '';
    ALTER TABLE backscroll_threads ALTER COLUMN person SET STATISTICS 0, ALTER COLUMN own_key SET STATISTICS 0;
    CREATE INDEX backscroll_threads_person ON backscroll_threads (tenant, left(person, 100)) WHERE person <> '';
    CREATE INDEX backscroll_threads_own_key ON backscroll_threads (tenant, left(own_key, 100)) WHERE own_key <> '';
    """,
)

VERSION = len(MIGRATIONS)

#: Keys of `meta` by which a transaction records that text was erased but its pages not yet rewritten; `scrub` removes them.
SCRUB_WORDS, SCRUB_BYTES = "scrub: words", "scrub: bytes"

#: The column on which a sharded PostgreSQL may distribute each table. What is on `root` belongs together (colocated).
DISTRIBUTED_BY: dict[str, str] = {
    "backscroll_threads": "root",
    "backscroll_events": "root",
    "backscroll_entries": "root",
    "backscroll_words": "root",
    "backscroll_tokens": "root",
    "backscroll_turns": "root",
    "backscroll_made_from": "root",
    "backscroll_replies_from": "root",
    "backscroll_vectors": "root",
    "backscroll_nodes": "root",
    "backscroll_turn_marks": "root",
    "backscroll_progress": "root",
    "backscroll_receipts": "root",
    "backscroll_directory": "thread",
    "backscroll_made": "key",
    "backscroll_replies": "key",
    "backscroll_encoders": "name",
    "backscroll_charges": "id",
    "backscroll_lessons": "thread",
    "backscroll_blobs": "digest",
    "backscroll_blob_users": "digest",
    "backscroll_origins": "key",
    "backscroll_meta": "key",
    "backscroll_quarantine": "thread",
}
