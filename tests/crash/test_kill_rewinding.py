"""Kill a rewind at every operation on a file: files and conversation agree after the next start."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import backscroll
from tests import programs

ROOT = Path(backscroll.__file__).parents[1]


@pytest.mark.crash
@pytest.mark.parametrize("keeper", ["git", "hashes"])
def test_rewind_survives_sigkill_at_every_operation(tmp_path: Path, keeper: str) -> None:
    """SIGKILL at the first, second, … operation that changes the disk, of a rewind and of its redo."""
    command = [sys.executable, "-m", "tests.crash.rewinding", str(tmp_path), keeper]
    done = programs.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    said = json.loads(done.stdout)
    assert said["wrong"] == []
    assert said["outcomes"]["finished"] > 10  # else nobody was killed in the middle
