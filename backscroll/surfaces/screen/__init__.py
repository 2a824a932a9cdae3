"""The terminal: where output goes, how wide text is, tables, pictures, progress, help pages."""
