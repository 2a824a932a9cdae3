"""What is done to a history and to a store: operations, undo, forks, forgetting, verifying, repairing, backups.

`operations` are strokes of the pen, `erasure` is the only way to drop words, `verification` re-hashes and folds everything again. Reading lives in `engine/core`.
"""
