"""Calls of models about a conversation: asking, keeping what was answered, which models wrote what.

`recipes` asks, `extraction` has turns read, `artefacts` and `usage` say what there is. What is due is decided in `engine/background`. Rules serve until an
answer is there.
"""
