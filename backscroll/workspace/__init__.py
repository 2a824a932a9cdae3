"""The folder an agent works in: safe files, edits, snapshots, restore, blame and commits."""
