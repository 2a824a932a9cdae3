"""Boundaries between tasks or topics: signals, features, the learned weights, reasons for the user. Pure."""
