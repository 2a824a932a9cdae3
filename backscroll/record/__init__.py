"""Fold log events into the live history: hash chain, positions, turns, undo, verification. Pure."""
