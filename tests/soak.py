"""How long the soak tests last: in full with `CI=true`, shorter on the way to a commit. What they check is the same."""

from __future__ import annotations

import os

IN_CI = os.environ.get("CI", "").lower() in {"1", "true", "yes"}


def last(full: int, short: int) -> int:
    """Return how many rounds, seconds or seeds to run here."""
    if not 0 < short <= full:
        raise ValueError(f"{short} is not a part of {full}")
    return full if IN_CI else short
