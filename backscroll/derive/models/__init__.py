"""What a model is asked for a recipe, and what its answer becomes: plans and folds. Pure: no call is made here.

`request` is what all plans share. Each recipe has a plan (`assertions`, `gist`, `summary`, `turn`) and a fold that reads the answer tolerantly.
"""
