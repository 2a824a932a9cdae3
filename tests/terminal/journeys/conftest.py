"""A stage for journeys: the program in a terminal, a scripted model in a process of its own, the command line beside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.terminal.journeys.stage import Stage


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """A place for one journey; at its end every prompt was valid, the record is sound and nothing runs on."""
    made = Stage(tmp_path)
    try:
        yield made
    finally:
        made.close()
    made.check()
