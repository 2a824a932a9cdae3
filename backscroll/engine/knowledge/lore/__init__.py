"""Lorebooks and character cards of a thread: which are in force, what they add to prompts, and why."""
