"""Parse, plan, check and apply a model's edits, all or nothing."""
