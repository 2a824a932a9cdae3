"""Slash commands: what can be done to a conversation from inside of it. Begin with `registry`."""
