"""Operations on a history and a store: edits, undo, forks, forgetting, verification, repair, backups.

`operations` are strokes of the pen, `erasure` is the only way to erase text, `verification` rehashes and refolds
everything. Reading lives in `engine/core`.
"""
