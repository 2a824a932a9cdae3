"""Words of one thread in another one's prompts: fixed seeds, and another process that really is one."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import backscroll
from backscroll import Thread
from tests import programs
from tests.fuzz.crossing_threads import fuzz, surfaces
from tests.house import tree

SECRET = "zqsecret"


@pytest.mark.parametrize("seed", [1, 2, 3, 8])
def test_fuzz_removals_across_threads(seed: int, tmp_path: Path) -> None:
    """Two engines, three threads: every surface is that of a fresh engine, and no dead secret is on any."""
    fuzz(seed, tmp_path)


def _project(engine: backscroll.Engine) -> tuple[Thread, Thread]:
    """One thread in which a preference was stated, and one whose refused task is planned by it."""
    teaches, plans = (engine.create(name, project="/work") for name in ("teaches", "plans"))
    teaches.append("user", "Good morning.")
    teaches.append("user", f"Please always use {SECRET} when you fix the parser.")
    plans.append("user", "Fix the parser.")
    plans.tasks.start("fix the parser")
    plans.append("assistant", "Fixed.")
    plans.tasks.attempt("It works.")
    plans.tasks.incomplete("No, the parser still fails.")
    return teaches, plans


LINES = {
    "delete": [["delete", "{}", "2"]],
    "hide": [["hide", "{}", "2"]],
    "edit": [["edit", "{}", "2", "Please always use tabs when you fix the parser."]],
    "forget": [["forget", "{}", "2", "--yes"]],
    "forget everything": [["forget", "{}", "--all", "--yes"]],
    "undo": [["undo", "{}"]],
}


@pytest.mark.parametrize("change", LINES)
def test_removal_by_another_process_is_seen(change: str, tmp_path: Path) -> None:
    """An engine with a cached plan shows nothing that another process removed from another thread."""
    store = tmp_path / "store.db"
    environment = {**os.environ, "BACKSCROLL_STORE": str(store), "PYTHONPATH": str(tree.ROOT)}
    with backscroll.open(store) as engine:
        teaches, plans = _project(engine)
        if change == "undo":  # what is undone is that a deleted message came back
            teaches.delete(teaches.message(1).id)
            teaches.restore(next(m.id for m in teaches.messages(deleted=True) if m.deleted))
        for _ in range(2):
            assert SECRET in surfaces(plans)["plans"]
            assert SECRET in surfaces(plans)["prompt"]
        for line in LINES[change]:
            words = [word.format(teaches.id) for word in line]
            programs.run(
                [sys.executable, "-m", "backscroll", *words],
                env=environment,
                check=True,
                capture_output=True,
                timeout=120,
            )
        now = surfaces(plans)
        assert [what for what, text in now.items() if SECRET in text] == []
        with backscroll.open(store) as fresh:
            assert now == surfaces(fresh.thread(plans.id))
