"""Condensing the past: when it pays, what fades to which level, what is kept word for word. Pure.

`policy` chooses, `retention` and `trail` weigh, `marks` knows the prices, `last_resort` fits what nothing else fits. Writing a compaction down is
the engine's work (`engine/prompts/compaction`).
"""
