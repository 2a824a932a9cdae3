"""Condensing the past: when it pays, at which level each unit is shown, what is kept verbatim. Pure.

`policy` chooses, `retention` and `trail` score, `marks` knows the prices, `last_resort` makes any history fit. Recording a compaction is
the engine's work (`engine/prompts/compaction`).
"""
