"""The sections that Backscroll adds to a prompt, one module each: graph, lore, profile, tasks; and lines that may no longer be shown.

A section gets the composer and gives blocks. Where they are placed is decided in `engine/prompts/insertions`.
"""
