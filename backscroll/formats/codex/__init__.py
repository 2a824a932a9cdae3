"""Read and write Codex rollouts."""
