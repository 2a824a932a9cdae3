"""Essentials of a stretch of messages: sentences, what they are about, how much they are worth, what is still open. Pure.

`essentials` folds; `reader`, `tool_calls` and `resolution` find what opens and what settles something; `tuning` has the weights. Summaries are written elsewhere (`derive/summaries`).
"""
