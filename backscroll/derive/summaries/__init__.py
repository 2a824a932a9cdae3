"""Gists of turns, summaries of spans, the tree of both, and the account for a person. Pure.

`spans` and `tree` say what there is to sum up, `gist` and `summary` sum up by rules, `storage` is the stored shape.
"""
