"""Slash commands, tried on a hand-made talk over a real store."""
