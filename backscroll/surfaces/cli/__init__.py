"""The command line. `main` is the entry point, `group` finds the commands, `commands/` holds them, the rest draws their output."""
