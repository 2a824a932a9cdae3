"""Conversations in and out: imports, exports, sync with another program's list, discovery of other tools' files.

`imports` and `exports` are the doors; `comparison`, `walk` and `carrying` put a foreign history beside ours. Formats themselves live in `formats`, matching in
`record/reconcile`.
"""
