"""Gists of turns, summaries of spans, the tree of both, and the account of a conversation for the user. Pure.

`spans` and `tree` determine what is summarised, `gist` and `summary` summarise by rules, `storage` is the stored form.
"""
