"""Kill whoever condenses and derives at any instant: the store verifies, and what is derived comes up to date again."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import backscroll
from tests import programs
from tests.crash.condensing import WANTED

ROOT = Path(backscroll.__file__).parents[1]
ROUNDS = 12


def kill_and_look(address: str, rounds: int, seed: int) -> None:
    """Have children killed while they crop, compact, forget and derive, and check what they leave."""
    command = [sys.executable, "-m", "tests.crash.condensing", address, str(rounds), str(seed)]
    done = programs.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1200, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    said = json.loads(done.stdout)
    assert said["wrong"] == []
    assert set(said["kinds"]) >= WANTED, f"nobody lived long enough to leave anything: {said}"


@pytest.mark.crash
def test_sqlite_survives_sigkill_during_compaction(sqlite_url: str) -> None:
    """Crops, compactions, receipts and derived rows, killed at random moments."""
    kill_and_look(sqlite_url, ROUNDS, 1)


@pytest.mark.crash
def test_postgres_survives_sigkill_during_compaction(database_url: str) -> None:
    """The same on PostgreSQL, where the client is killed in the middle of its transactions."""
    kill_and_look(database_url, ROUNDS // 2, 2)
