"""Compaction: when to condense the history, what to keep, cuts of giant results, and the record of it."""
