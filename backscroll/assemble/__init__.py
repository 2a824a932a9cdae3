"""Prompts from a history and a budget: valid, within the budget, and explained by a receipt. Pure."""
