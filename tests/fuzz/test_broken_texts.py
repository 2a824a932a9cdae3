"""A few fixed conversations of broken texts; `make fuzz` runs fresh ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.broken_texts import fuzz


@pytest.mark.parametrize("seed", range(8))
def test_no_room_sees_half_a_character_and_the_log_gives_it_back(seed: int, tmp_path: Path) -> None:
    """Every public call, every format, every wire and the command line."""
    fuzz(seed, tmp_path)
