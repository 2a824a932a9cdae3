"""Two histories side by side: which messages are the same, what was edited, moved, joined or is gone, and the plan that follows. Pure.

`plan` and `rendered_prompts` are the entry points, `stages` the order of the evidence. Carrying a plan out is the engine's work (`engine/exchange`).
"""
