"""Essentials of a stretch of messages: sentences, their subjects and weights, and what is still open. Pure.

`essentials` folds; `reader`, `tool_calls` and `resolution` find what opens and what settles something; `tuning` has the weights. Summaries are written elsewhere (`derive/summaries`).
"""
