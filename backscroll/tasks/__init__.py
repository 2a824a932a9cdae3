"""Tasks: their lifecycle, boundaries between them, plans, follow-up questions, and memories.

Pure: no disk, clock or network; `engine/work/tasks` reads and writes.
"""
