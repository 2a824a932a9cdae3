"""The reader of coding sessions: files, functions, packages, errors and commands, from tool calls and from prose."""
