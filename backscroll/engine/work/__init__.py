"""Tasks of a thread: steps, verdicts, boundaries, and what a task does to the context.

`tasks` is what users hold; the lifecycle itself is pure and lives in the room `tasks`. What outlives a task is in `memory`.
"""
