"""The memory for other agents: a Model Context Protocol server over stdio."""
