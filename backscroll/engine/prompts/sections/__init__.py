"""The sections that Backscroll adds to a prompt, one module each: graph, lore, profile, tasks; and lines that may no longer be shown.

A section gets the composer and returns a block. To add one: a name in `vocab/prompt` (`Section`, `INSERTED`), a module here, and a method in
`engine/prompts/insertions`, which decides when it is placed.
"""
