"""Models at work in the background: reading turns, writing gists, what it costs, which models there are.

`understanding` decides what is due, `recipes` asks, `costs` keeps the ledger, `background` is the thread that works off the hot path. Rules serve until an
answer is there.
"""
