"""The slash commands, a module for each small family; loaded when one is called."""
