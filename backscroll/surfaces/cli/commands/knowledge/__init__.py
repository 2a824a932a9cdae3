"""Commands for the graph, lorebooks, tasks, memories and users."""
