"""Compare two histories: match messages, find edits, moves, joins and deletions, and plan the changes. Pure.

`plan` and `rendered_prompts` are the entry points, `stages` the order of the evidence. The engine applies plans
(`engine/exchange`).
"""
