"""A thread and the folder that its agent works in: changes, blame, commits, going back, tool uses.

`workroom` is what users hold; the log of changes is read in `change_reading`. Files and snapshots themselves live in `workspace`.
"""
