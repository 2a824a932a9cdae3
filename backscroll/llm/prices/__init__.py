"""Prices of calls, context windows, and spending limits."""
