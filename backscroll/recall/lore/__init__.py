"""Entries of lorebooks: which of them a conversation wakes."""
