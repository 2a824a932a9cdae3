"""Anthropic messages: convert files, single messages and blocks in both directions."""
