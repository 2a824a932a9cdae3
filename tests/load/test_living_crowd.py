"""Several processes analyse, correct and change the same threads at once: nothing is lost."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import backscroll
from backscroll.engine.background.worker import bring_up_to_date
from backscroll.engine.knowledge.analysis import rebuild
from tests import programs, proof
from tests.properties.living import living, marked, reference

ROOT = Path(backscroll.__file__).parents[1]
PROCESSES, STEPS = 3, 6


def look(address: str) -> None:
    """Let the processes loose; afterwards everything is as a rebuild has it, and as the reference says."""
    with backscroll.open(address, background=False) as engine:
        shared = [engine.create(f"shared {n}").id for n in range(2)]
    commands = [
        [sys.executable, "-m", "tests.load.living_crowd", address, str(STEPS), str(number), *shared]
        for number in range(PROCESSES)
    ]
    running = [
        programs.start(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for command in commands
    ]
    said = [process.communicate(timeout=1200) for process in running]
    assert [(p.returncode, error) for p, (_, error) in zip(running, said, strict=True)] == [
        (0, "")
    ] * PROCESSES
    with backscroll.open(address, background=False) as engine:
        found = sum(len(list(engine.thread(name).messages(deleted=True))) for name in shared)
        assert found + sum(_gone(engine.thread(name)) for name in shared) == sum(
            json.loads(out)["written"] for out, _ in said
        )
        for name in shared:
            thread = engine.thread(name)
            bring_up_to_date(engine, name)
            assert marked(thread) == reference(thread)
            grown = living(thread)
            rebuild(engine, name)
            assert living(thread) == grown
        proof.assert_sound(engine)


def _gone(thread: backscroll.Thread) -> int:
    """How many messages were forgotten."""
    return sum(len(e.head.get("messages", ())) for e in thread.events() if e.kind.value == "forgotten")


@pytest.mark.load
def test_living_memory_of_one_sqlite_file(sqlite_url: str) -> None:
    """Three processes on one file."""
    look(sqlite_url)


@pytest.mark.load
def test_living_memory_of_one_postgres(database_url: str) -> None:
    """The same on PostgreSQL."""
    look(database_url)
