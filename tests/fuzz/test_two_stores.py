"""SQLite and PostgreSQL do and tell the same, on a few fixed seeds."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.two_stores import compare


@pytest.mark.parametrize("seed", [1, 2])
def test_fuzz_both_stores_behave_the_same(seed: int, tmp_path: Path, prepared_url: str) -> None:
    compare(seed, tmp_path, prepared_url)
