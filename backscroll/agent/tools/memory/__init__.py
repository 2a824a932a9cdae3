"""Tools with which a model searches the history and the graph, and edits its own prompt, one module each.

They quote with handles; their results are marked as data, not as instructions.
"""
