"""Self-contained pages: one HTML file, no external script, nothing to load."""
