"""Questions about old tool results through `Thread.prompt`, in English and Chinese, about results in English and Chinese."""

from __future__ import annotations

from pathlib import Path

import pytest

from backscroll.engine.search import recall_pool
from bench.recall_questions import run


@pytest.mark.parametrize("exact", [recall_pool.EXACT, 60], ids=["whole thread", "by the store's index"])
def test_recalled_answers_are_in_the_prompt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exact: int
) -> None:
    """Nearly all of them, including the held-out questions; unrelated questions recall nothing."""
    monkeypatch.setattr(recall_pool, "EXACT", exact)
    monkeypatch.setattr(recall_pool, "LARGEST", exact)
    out = run(tmp_path)
    assert len(out.found["seen"]) >= 12, out.missed
    assert len(out.found["held"]) >= 11, out.missed
    assert out.added == []
