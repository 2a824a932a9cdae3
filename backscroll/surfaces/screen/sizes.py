"""Display of sizes."""

from __future__ import annotations


def size(number: int) -> str:
    """Return a number of bytes in a readable unit."""
    value = float(number)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000 or unit == "GB":
            return f"{value:.0f} {unit}" if unit == "B" or value >= 100 else f"{value:.1f} {unit}"
        value /= 1000
    raise AssertionError
