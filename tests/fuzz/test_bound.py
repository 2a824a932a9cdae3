"""A few fixed conversations of the fuzzer of bound thinking; `make fuzz` has fresh ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.bound import fuzz


@pytest.mark.parametrize("seed", range(20))
def test_fuzz_requests_with_bound_thinking(seed: int, tmp_path: Path) -> None:
    """Thinking is always preceded by the prefix it was made with."""
    fuzz(seed, tmp_path)
