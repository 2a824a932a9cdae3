"""Essentials of a stretch of messages: sentences, what they are about, how much they are worth, what is still open. Pure.

`essentials` folds, `reading` and `settling` find what opens and what settles something. Summaries are written elsewhere (`derive/summaries`).
"""
