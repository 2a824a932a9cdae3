"""Work that no caller waits for: the worker that derives ahead of time, the calls of a model beside it, and an overview of both.

Owns the order of the steps. What each step makes is in the folders below: tree, work, knowledge, search, models.
"""
