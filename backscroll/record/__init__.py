"""Log events to live history: chain, fold, positions, turns, undo, sync, verify. Pure."""
