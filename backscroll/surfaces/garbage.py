"""Pausing Python's collector of reference cycles while a program starts.

Loading modules makes hundreds of thousands of permanent objects; scanning them again and again takes a sixth of the
start. Refuses: leaving the collector off. Opening a store turns it on again.
"""

from __future__ import annotations

import gc


def pause_collection() -> None:
    """Pause the collector until `resume_collection`."""
    gc.disable()


def resume_collection() -> None:
    """Resume the collector, without scanning what was loaded before. Does nothing without a pause."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()
