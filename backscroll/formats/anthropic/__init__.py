"""Anthropic messages: files of them, single messages and blocks, both ways."""
