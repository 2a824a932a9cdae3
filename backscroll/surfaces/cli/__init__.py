"""The command line. `main` is the door, `group` knows the commands, `commands/` holds them, the rest draws what they say."""
