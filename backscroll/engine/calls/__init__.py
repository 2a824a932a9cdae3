"""Conversations with models that other code holds: replies into the log, programs overheard, lists kept by a caller.

`replies` writes an answer with its price in one transaction; `overhearing` and `conversation` serve programs that talk by themselves. Sending requests is the
work of `llm` and `act`.
"""
