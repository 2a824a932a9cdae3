"""Eight processes on one store: no error, nothing lost, order kept. BACKSCROLL_LOAD_SECONDS sets the duration."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

import backscroll
from tests import programs, soak
from tests.load.crowd import LEAST

ROOT = Path(backscroll.__file__).parents[1]
PROCESSES = 8
SECONDS = os.environ.get(
    "BACKSCROLL_LOAD_SECONDS", str(soak.last(20, 6))
)  # read when loaded: tests run without the user's settings


def crowd(address: str) -> list[dict[str, int]]:
    """Let the processes loose; gives how much each says that it wrote to each conversation."""
    with backscroll.open(address) as engine:
        shared = [engine.create(f"shared {n}").id for n in range(3)]
    commands = [
        [sys.executable, "-m", "tests.load.crowd", address, SECONDS, str(number), *shared]
        for number in range(PROCESSES)
    ]
    running = [
        programs.start(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for command in commands
    ]
    said = [process.communicate(timeout=float(SECONDS) + 900) for process in running]
    assert [(process.returncode, error) for process, (_, error) in zip(running, said, strict=True)] == [
        (0, "")
    ] * PROCESSES
    return [json.loads(out)["counts"] for out, _ in said]


def look(address: str, counts: list[dict[str, int]]) -> None:
    """Everything that was written is there, in everybody's order, and the logs verify."""
    with backscroll.open(address) as engine:
        assert engine.verify().ok
        for info in engine.threads():
            thread = engine.thread(info.id)
            written = {number: mine[info.id] for number, mine in enumerate(counts) if info.id in mine}
            found: dict[int, list[int]] = {number: [] for number in written}
            for message in thread:
                number, count, *_ = message.text.split()
                found[int(number)].append(int(count))
            assert found == {number: list(range(total)) for number, total in written.items()}
            assert len(thread) == sum(written.values())
            seqs = [event.seq for event in thread.events()]
            assert seqs == list(range(1, len(seqs) + 1))
            assert all(a.id.seq < b.id.seq for a, b in pairwise(thread))
    assert min(sum(mine.values()) for mine in counts) >= LEAST


@pytest.mark.load
def test_eight_processes_on_one_sqlite_file(sqlite_url: str) -> None:
    """No `database is locked`, nothing lost, and all agree on the order of each thread."""
    look(sqlite_url, crowd(sqlite_url))


@pytest.mark.load
def test_eight_processes_on_one_postgres(database_url: str) -> None:
    """The same on PostgreSQL: no errors, nothing lost."""
    look(database_url, crowd(database_url))
