"""Profiles of users follow every edit, on a few fixed seeds; `make fuzz ONLY=user_profiles` goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.user_profiles import fuzz


@pytest.mark.parametrize("seed", range(6))
def test_fuzz_profile_equals_a_rebuild(seed: int, tmp_path: Path) -> None:
    fuzz(seed, tmp_path)
