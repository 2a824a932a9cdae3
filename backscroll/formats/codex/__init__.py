"""Rollouts of Codex, both ways."""
