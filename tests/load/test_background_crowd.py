"""Several processes build prompts, crop, compact and derive on one store at once without interference."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import backscroll
from backscroll.engine.background.worker import Worker, bring_up_to_date
from backscroll.engine.tree.tree import rebuild
from tests import programs, proof, soak
from tests.properties.memory import tree_of

ROOT = Path(backscroll.__file__).parents[1]
PROCESSES = 3
SECONDS = os.environ.get(
    "BACKSCROLL_LOAD_SECONDS", str(soak.last(12, 5))
)  # read when loaded: tests run without the user's settings
OWN = re.compile(r"qz\d+_\d+zq")


def crowd(address: str) -> tuple[list[str], list[dict[str, Any]]]:
    """Let the processes loose; gives the conversations and what each of them says."""
    with backscroll.open(address, background=False) as engine:
        shared = [engine.create(f"shared {n}").id for n in range(2)]
    commands = [
        [sys.executable, "-m", "tests.load.background_crowd", address, SECONDS, str(number), *shared]
        for number in range(PROCESSES)
    ]
    running = [
        programs.start(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for command in commands
    ]
    said = [process.communicate(timeout=float(SECONDS) + 900) for process in running]
    assert [(p.returncode, error) for p, (_, error) in zip(running, said, strict=True)] == [
        (0, "")
    ] * PROCESSES
    return shared, [json.loads(out) for out, _ in said]


def look(address: str) -> None:
    """Nobody saw anything wrong; all messages are there; what was derived meanwhile is what a rebuild gives."""
    shared, said = crowd(address)
    assert [what["wrong"] for what in said] == [[]] * PROCESSES
    assert all(what["prompts"] for what in said)
    with backscroll.open(address, background=False) as engine:
        found = {
            m
            for name in shared
            for one in engine.thread(name).messages(deleted=True)
            for m in OWN.findall(one.text)
        }
        assert len(found) == sum(what["written"] for what in said)
        worker = Worker(engine)
        worker.run()
        assert worker.progress.last_error == ""
        for name in shared:
            thread = engine.thread(name)
            bring_up_to_date(engine, name)
            grown = tree_of(thread)
            live = {m for one in thread if not one.hidden for m in OWN.findall(one.text)}
            assert set(OWN.findall(str(grown))) <= live
            assert set(OWN.findall(json.dumps(thread.prompt(2500, dry_run=True).messages))) <= live
            rebuild(engine, name)
            assert tree_of(thread) == grown
        proof.assert_sound(engine)


@pytest.mark.load
def test_prompts_and_background_work_on_one_sqlite_file(sqlite_url: str) -> None:
    """Prompts, crops, compactions, undos and workers of several processes at once on one file."""
    look(sqlite_url)


@pytest.mark.load
def test_prompts_and_background_work_on_one_postgres(database_url: str) -> None:
    """The same on PostgreSQL."""
    look(database_url)
