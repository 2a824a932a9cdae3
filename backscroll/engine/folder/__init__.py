"""A thread and the folder its agent works in: changes, blame, commits, rewind, tool calls.

`workroom` is the public class; `change_log` and `change_query` read the recorded changes. Files and snapshots live in
`workspace`.
"""
