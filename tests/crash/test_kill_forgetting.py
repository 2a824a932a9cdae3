"""Killed at any step of a forget: either nothing is forgotten, or the next opening leaves no byte of it in any file."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import backscroll
from tests import programs
from tests.stores.database_files import folder_of

ROOT = Path(backscroll.__file__).parents[1]


def kill_at_every_step(*arguments: str) -> None:
    command = [sys.executable, "-m", "tests.crash.forgetting", *arguments]
    done = programs.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    said = json.loads(done.stdout)
    assert said["wrong"] == []
    assert said["due"] > 3  # killed after the commit, with something left to do
    assert said["gone"] >= said["due"]
    assert said["steps"] > said["gone"]  # and before it


@pytest.mark.crash
def test_forget_on_sqlite_survives_sigkill_at_every_step(tmp_path: Path) -> None:
    """Through commit, dialogue files, rewriting the file, emptying its log, and taking the note away."""
    kill_at_every_step(str(tmp_path), str(tmp_path), "", "1")


@pytest.mark.crash
def test_forget_on_postgres_survives_sigkill_at_every_sixth_step(prepared_url: str, tmp_path: Path) -> None:
    """The same on PostgreSQL, at every sixth statement."""
    kill_at_every_step(prepared_url, str(tmp_path), str(folder_of(prepared_url)), "6")
