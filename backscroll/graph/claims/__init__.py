"""What turns claim, prepared for the fold: claims with their names spelled as keys, predicates in one direction, evidence, an index.

Lowest in the graph: imports nothing of its siblings.
"""
