"""A few fixed histories of the fuzzer of growing prompts; `make fuzz` has fresh ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.growing import fuzz


@pytest.mark.parametrize("seed", range(40))
def test_fuzz_growing_prompts_keep_their_prefix(seed: int, tmp_path: Path) -> None:
    """On every wire: valid at every block, and the beginning of every longer prompt."""
    fuzz(seed, tmp_path)
