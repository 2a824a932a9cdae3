"""Writing rows of the PostgreSQL store inside one transaction, and the upkeep of its tables."""
