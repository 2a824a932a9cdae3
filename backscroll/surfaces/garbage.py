"""Pausing Python's collector of reference cycles while a program starts.

Loading modules makes hundreds of thousands of objects that stay for good; looking through them again and again takes a sixth of the
start. Refuses: leaving the collector off. Opening a store turns it on again.
"""

from __future__ import annotations

import gc


def pause_collection() -> None:
    """Do not look for garbage until `resume_collection`."""
    gc.disable()


def resume_collection() -> None:
    """Look for garbage from now on, but not among what was loaded before. Without a pause this does nothing."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()
