"""Readers and writers for other tools' formats. Pure: readers get a `Source`, writers yield text; the engine opens files.

To add one, write a module with a `FORMAT` (`shape`) in a folder named after the tool, and list it in `detection`.
"""
