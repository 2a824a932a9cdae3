"""Reading rows of the SQLite store at one moment, full text and vectors included."""
