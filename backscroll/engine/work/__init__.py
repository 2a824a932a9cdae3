"""Tasks of a thread: steps, verdicts, boundaries, what a task does to the context.

`tasks` is what users hold; the lifecycle itself is pure and lives in `tasks`. What outlives a task is in `memory`.
"""
