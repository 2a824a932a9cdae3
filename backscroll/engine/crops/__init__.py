"""Crops: messages that a user removed from prompts, the summaries that replace them, and what that costs.

Automatic compaction is in `engine/prompts/compaction`.
"""
