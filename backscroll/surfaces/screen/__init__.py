"""The terminal: output, text width, tables, pictures, progress, help pages."""
