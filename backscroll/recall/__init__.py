"""Finding past texts: index words, queries, snippets of results. Pure: the stores search."""
