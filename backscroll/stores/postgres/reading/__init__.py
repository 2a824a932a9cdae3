"""Reading rows of the PostgreSQL store at one moment, full text included."""
