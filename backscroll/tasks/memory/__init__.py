"""Memories of a task: outcomes, lessons, notes, how they fade, and which matter for another task. Pure."""
