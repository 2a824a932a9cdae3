"""Where logs live: SQLite and PostgreSQL, both behind `record/ports`. Knows SQL and files, no policy."""
