"""Messages, events, graphs, tasks, memories and changes as text and as JSON. Independent of commands."""
