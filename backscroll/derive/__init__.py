"""Recipes: what is made from the words of a conversation. Pure."""
