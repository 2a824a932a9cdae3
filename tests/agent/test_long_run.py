"""Many steps with large results under a small budget: the service refuses what is not valid or too long."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.long_run import long_run

_BUDGET = 8_000


@pytest.mark.parametrize("kind", ["openai", "openai-responses", "anthropic"])
def test_sixty_steps_stay_valid_and_within_budget(tmp_path: Path, kind: str) -> None:
    """One turn of sixty steps: no request is refused, every result is recorded, compactions come in batches."""
    done = long_run(tmp_path, 60, _BUDGET, size=3_000, kind=kind, model="gpt-4o")
    assert (done.end, done.steps, done.refused, done.missing) == ("answered", 61, 0, 0)
    assert done.longest <= _BUDGET
    assert done.input < done.full_input / 3
    assert done.compactions <= 30


def test_three_hundred_steps_stay_within_budget(tmp_path: Path) -> None:
    """Three hundred steps of about 2,300 tokens each under a budget of 16,000."""
    done = long_run(tmp_path, 300, 16_000, size=6_000)
    assert (done.end, done.steps, done.refused, done.missing) == ("answered", 301, 0, 0)
    assert done.longest <= 16_000
    assert done.nano < done.full_nano
