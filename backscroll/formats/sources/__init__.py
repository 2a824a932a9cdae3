"""Shared parts of format readers: damaged JSON, lines, huge documents, trees of messages, bytes in JSON."""
