"""The stores: SQLite and PostgreSQL, both behind `record/ports`. SQL and files only, no policy."""
