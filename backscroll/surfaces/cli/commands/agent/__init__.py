"""Commands that let the agent work, and look at what became of the files."""
