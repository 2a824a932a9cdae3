"""Lorebooks and cards in a thread: which books are in force, what they put into prompts, and why."""
