"""Finding things again: the words of the index, queries over it, snippets of what was found. Pure: the stores search."""
