"""A few fixed conversations of broken texts; `make fuzz` runs fresh ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.broken_texts import fuzz


@pytest.mark.parametrize("seed", range(8))
def test_fuzz_texts_with_lone_surrogates(seed: int, tmp_path: Path) -> None:
    """Every public call, every format, every wire and the command line."""
    fuzz(seed, tmp_path)
