"""Tools that read and change files, one module each, all through `workspace`.

`folder` is what they share: safe files and protected ones. No tool opens a path by itself.
"""
