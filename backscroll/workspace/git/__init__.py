"""Work with the user's own repository: commits of exactly the agent's changes, blame, merges."""
