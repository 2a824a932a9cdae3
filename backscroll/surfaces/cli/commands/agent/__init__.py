"""Commands that run the agent, and show its file changes."""
