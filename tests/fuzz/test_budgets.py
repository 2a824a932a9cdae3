"""A few fixed histories of the fuzzer of budgets; `make fuzz` has fresh ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.budgets import fuzz

#: Each of the first refused a larger budget than one that worked; the others sent what a service refuses.
SEEDS = (0, 6, 13, 24, 29, 1, 14, 19)


@pytest.mark.parametrize("seed", SEEDS)
def test_fuzz_budgets(seed: int, tmp_path: Path) -> None:
    """On every wire, with and without tools: monotone budgets, exact minimums, valid requests."""
    fuzz(seed, tmp_path)
