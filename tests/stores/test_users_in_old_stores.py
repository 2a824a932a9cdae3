"""Stores from before threads had users: migrated without loss, and able to have users and keys."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import backscroll
from backscroll.stores.sqlite.schema import MIGRATIONS, VERSION
from tests import programs
from tests.stores.at_once import Opener

SCHEMA = 4


def test_old_threads_have_no_user_and_may_get_one(old: tuple[backscroll.Engine, str]) -> None:
    engine, _ = old
    before = {info.id: (info.title, info.project, info.messages) for info in engine.threads()}
    assert before
    assert engine.users() == []
    assert {info.key for info in engine.threads()} == {""}
    chosen = next(iter(before))
    engine.thread(chosen).describe(user="ann")
    assert [info.id for info in engine.threads(user="ann")] == [chosen]
    assert {i.id: (i.title, i.project, i.messages) for i in engine.threads()} == before
    assert engine.verify().flaws == []


def test_profile_and_key_work_in_an_old_store(old: tuple[backscroll.Engine, str]) -> None:
    engine, _ = old
    one = engine.thread_for("mine", user="ann")
    assert engine.thread_for("mine").id == one.id
    one.append("user", "I am allergic to nuts.")
    other = engine.create(user="ann")
    other.append("user", "Suggest a dinner.")
    assert "nuts" in str(other.prompt(8000).messages)
    assert engine.verify().flaws == []


def test_released_migrations_are_unchanged() -> None:
    """Users have a migration of their own."""
    assert len(MIGRATIONS) == VERSION
    assert [n for n, text in enumerate(MIGRATIONS, 1) if "person" in text] == [VERSION]


_ASK = """
import sys, backscroll
with backscroll.open(sys.argv[1], background=False) as store:
    sys.stdin.readline()
    print(store.thread_for("the one", "Together").id)
"""


def test_concurrent_processes_get_one_thread(tmp_path: Path) -> None:
    place = str(tmp_path / "store.db")
    with backscroll.open(place, background=False) as store:
        store.create("there")
    asking = [
        programs.start(
            [sys.executable, "-c", _ASK, place],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    for process in asking:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    found = [process.communicate()[0].strip() for process in asking]
    assert [process.returncode for process in asking] == [0] * 4
    assert len(set(found)) == 1
    with backscroll.open(place, background=False) as store:
        assert sum(info.key == "the one" for info in store.threads()) == 1


@pytest.mark.postgres
def test_concurrent_programs_on_postgresql_get_one_thread(opened: Opener) -> None:
    import threading

    engines: list[Any] = [opened() for _ in range(4)]
    start = threading.Barrier(len(engines))
    found: list[str] = []

    def ask(engine: Any) -> None:
        start.wait()
        found.extend(engine.thread_for(key).id for key in ("a", "b", "c"))

    workers = [threading.Thread(target=ask, args=(engine,)) for engine in engines]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(found) == 12
    assert len(set(found)) == 3
    assert sum(bool(info.key) for info in engines[0].threads()) == 3
