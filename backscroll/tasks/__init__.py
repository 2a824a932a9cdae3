"""Tasks: their lifecycle, where one ends and the next begins, plans, follow-up questions, and what is remembered of them.

Pure: no disk, clock or network; `engine/work/tasks` reads and writes.
"""
