"""The embedded store: one file, the standard library's sqlite3, hand-written SQL."""
