from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from tests.fuzz.mcp_servers import fuzz


@pytest.mark.parametrize("seed", range(8))
def test_fuzz_mcp_servers_with_garbled_answers(seed: int, tmp_path: Path) -> None:
    fuzz(seed, tmp_path)
