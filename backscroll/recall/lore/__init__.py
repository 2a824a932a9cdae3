"""Lorebook entries: which of them a conversation activates."""
