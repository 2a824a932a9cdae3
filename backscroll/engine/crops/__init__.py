"""Crops: messages that a user took out of prompts, what stands in their place, and what that costs.

Refuses compaction, which the engine does by itself: that is `engine/prompts/compaction`.
"""
