"""Condensed histories under every operation, with forks: what every prompt owes to the history, and copies that agree.

The world is that of the properties (`tests/properties/past.py`), with longer sequences: nothing that must be shown is missing, every live
message is shown, summed up or counted as unseen, and a second engine and a native copy give the same bytes.
"""

from __future__ import annotations

import random
from pathlib import Path

from tests.properties.past import OPERATIONS, World

#: A call that waits before the window, in a fork; and one that is like most.
SEEDS = (5011, 7)


def fuzz(seed: int, folder: Path) -> None:
    """One world, condensed and then changed in many ways."""
    rolls = random.Random(seed)
    acts = [
        (rolls.choice(OPERATIONS), rolls.randrange(100), rolls.randrange(100))
        for _ in range(rolls.randrange(1, 18))
    ]
    world = World(folder)
    try:
        world.begin(20 + rolls.randrange(10), acts)
        world.owed_everywhere()
        world.copies_agree()
    finally:
        world.close()
