"""A conversation as a Markdown page for people. Written only."""
