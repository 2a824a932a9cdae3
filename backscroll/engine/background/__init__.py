"""Background work that no caller waits for: the worker that derives ahead of time, its model calls, and their status.

Owns the order of the steps. Each step is implemented in the folders below: tree, work, knowledge, search, models.
"""
