"""A model's edits: from its text to a plan, checked, and applied all or not at all."""
