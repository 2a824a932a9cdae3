"""Pages that stand on their own: one HTML file, no script from elsewhere, nothing to load."""
