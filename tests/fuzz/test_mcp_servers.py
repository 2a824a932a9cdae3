from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from tests.fuzz.mcp_servers import fuzz


@pytest.mark.parametrize("seed", range(8))
def test_garbled_answers_end_nothing(seed: int, tmp_path: Path) -> None:
    fuzz(seed, tmp_path)
