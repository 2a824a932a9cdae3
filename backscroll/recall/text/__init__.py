"""Texts as search and recall compare and show them: words, terms, passages, excerpts, snippets."""
