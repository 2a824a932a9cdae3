"""Kill whoever has a model read turns at any instant: everything is read in the end, and no reply is paid for twice."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from pathlib import Path

import pytest

import backscroll
from backscroll.testing import Line, Scenario, ScriptedServer
from tests import programs

ROOT = Path(backscroll.__file__).parents[1]
ROUNDS = 10


def kill_and_look(address: str, rounds: int, seed: int) -> None:
    """Have children killed while they have turns read, and check what was paid for."""
    with ScriptedServer(Scenario(lines=(Line(text='{"assertions": []}', delay=0.01),))) as server:
        command = [
            sys.executable,
            "-m",
            "tests.crash.reading",
            address,
            server.url,
            str(rounds),
            str(seed),
        ]
        done = programs.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1200, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        asked = Counter(
            found[1] for a in server.asked if (found := re.search(r"Person(\d+) lives", a.everything))
        )
    said = json.loads(done.stdout)
    # Every turn is read, every reply that arrived was counted and kept in the same moment, and none came twice.
    assert said["read"] == said["replies"] == said["charged"] == said["turns"]
    assert (said["failed"], said["other"]) == (0, [])
    assert said["early"] > 1, f"nobody lived long enough to have a turn read: {said}"
    # Only a call that was under way when its caller was killed is made again: at most one for each killing.
    assert sum(asked.values()) <= said["turns"] + said["killed"]
    # … and it stands on the ledger as one without an answer: nothing that the service was asked is missing there.
    assert sum(asked.values()) <= said["charged"] + said["unanswered"] <= said["turns"] + said["killed"]
    assert asked["0"] == 1  # whose caller died between the reply and the reading


@pytest.mark.crash
def test_sqlite_survives_sigkill_during_model_readings(sqlite_url: str) -> None:
    """Replies, charges and readings, killed at random moments and at the worst one."""
    kill_and_look(sqlite_url, ROUNDS, 1)


@pytest.mark.crash
def test_postgres_survives_sigkill_during_model_readings(database_url: str) -> None:
    """The same on PostgreSQL, where the client is killed in the middle of its transactions."""
    kill_and_look(database_url, ROUNDS // 2, 2)
