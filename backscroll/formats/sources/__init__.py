"""Shared parts of format readers: JSON in any state, lines, huge documents, trees of messages, bytes inside JSON. No format by name."""
