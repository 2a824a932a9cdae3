"""Command lines at random, on a few fixed seeds; `make fuzz` takes fresh ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.command_lines import fuzz


@pytest.mark.parametrize("seed", [1, 2])
def test_fuzz_command_lines_allowed_unasked(seed: int, tmp_path: Path) -> None:
    """Real shells run every line that is let through."""
    fuzz(seed, tmp_path)
