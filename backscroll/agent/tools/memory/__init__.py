"""Tools with which a model looks into the record, the graph and its own history, one module each.

They quote and point; what they hand out is marked as data, not as an order.
"""
