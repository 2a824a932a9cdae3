"""Kill the process at any instant: every acknowledged write is there afterwards, and the log verifies."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import backscroll
from tests import programs, soak

ROOT = Path(backscroll.__file__).parents[1]
STORES, ROUNDS = soak.last(8, 3), 25  # in full, two hundred killings


def kill_and_look(address: str, rounds: int, seed: int) -> None:
    """Have children killed while they write, and check what the survivors say."""
    command = [sys.executable, "-m", "tests.crash.victims", address, str(rounds), str(seed)]
    done = programs.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1200, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    said = json.loads(done.stdout)
    assert said["wrong"] == []
    assert said["acknowledged"] > rounds, f"nobody lived long enough to lose anything: {said}"


@pytest.mark.crash
@pytest.mark.parametrize("seed", range(STORES))
def test_acknowledged_sqlite_writes_survive_sigkill(sqlite_url: str, seed: int) -> None:
    """Appends, edits, deletes, undos and forgets of several OS threads survive SIGKILL at random moments."""
    kill_and_look(sqlite_url, ROUNDS, seed)


@pytest.mark.crash
def test_acknowledged_postgres_writes_survive_sigkill(database_url: str) -> None:
    """The same on PostgreSQL, where the client is killed in the middle of its transactions."""
    kill_and_look(database_url, 20, 100)


CREATION = """
import os, sys
import backscroll

for number in range(int(sys.argv[2])):
    place = f"{sys.argv[1]}/{number}.db"
    child = os.fork()
    if child == 0:
        backscroll.open(place).create("x").append("user", "y")
        os._exit(0)
    import random, signal, time

    time.sleep(random.Random(number).uniform(0, 0.02))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with backscroll.open(place) as engine:
        engine.create("after")
        assert engine.verify().ok
        assert sorted(t.title for t in engine.threads()) in (["after"], ["after", "x"])
"""


@pytest.mark.crash
def test_store_killed_during_creation_can_be_opened(tmp_path: Path) -> None:
    """Killed while it creates the file and its tables."""
    command = [sys.executable, "-c", CREATION, str(tmp_path), "60"]
    done = programs.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert (done.returncode, done.stderr) == (0, "")
