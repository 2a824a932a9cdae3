"""Budgets of prompts and calls: token counts, prices, context windows, the room for an answer, and the caller's request.

Reads the store's counts and the price tables. What goes into a prompt is decided in `engine/prompts`.
"""
