"""The agent: its loop, its tools, and approval before acting."""
