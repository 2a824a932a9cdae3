"""Writing rows of the SQLite store inside one transaction, and rewriting its file after a forget."""
