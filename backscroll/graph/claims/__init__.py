"""Claims of turns, prepared for the fold: names as keys, predicates in one direction, evidence, an index.

The lowest folder of the graph: imports none of its siblings.
"""
