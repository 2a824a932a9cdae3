"""Edits by a model: parsed, planned, checked, and applied all or not at all."""
