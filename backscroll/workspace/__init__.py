"""The folder an agent works in: safe files, snapshots, edits, blame, going back, commits."""
