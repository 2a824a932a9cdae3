"""Import and export: files of other tools, sync with another program's message list, discovery of conversations.

`imports` and `exports` are the entry points; `comparison`, `walk` and `writer` align a foreign history with ours. File formats live in
`formats`, the matching in `reconcile`.
"""
