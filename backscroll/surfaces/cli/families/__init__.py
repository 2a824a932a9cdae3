"""Subcommands of the large families (`graph`, `memory`, `task`, `user`, `config`, `run`), loaded with their family."""
