"""Things in words and as JSON: messages, events, graphs, tasks, memories, changes. No command by name."""
