"""The commands, one module for each small family; loaded when called."""
