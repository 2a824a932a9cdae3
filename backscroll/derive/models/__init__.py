"""Requests to a model for a recipe, and the use of its answers: plans and folds. Pure: no call is made here.

`request` is shared by all plans. Each recipe has a plan (`assertions`, `gist`, `summary`, `turn`) and a fold that reads the answer tolerantly.
"""
