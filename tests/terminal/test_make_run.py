"""`make run`: the chat with its welcome in a terminal, a demonstration in a pipe."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.house import tree
from tests.terminal.conftest import READY, Desk
from tests.terminal.terminal import CTRL_D

pytestmark = pytest.mark.skipif(
    shutil.which("make") is None or not (tree.ROOT / ".venv" / "bin" / "backscroll").exists(),
    reason="`make run` needs make, and what `make setup` makes",
)


@pytest.fixture(scope="module")
def recipe() -> str:
    """The line that the target hands to the shell, without the set-up that may come before it."""
    said = subprocess.run(
        ["make", "--dry-run", "--no-print-directory", "run"],
        cwd=tree.ROOT,
        env={"PATH": os.environ["PATH"], "HOME": os.environ["HOME"]},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    return f"cd '{tree.ROOT}'; {said.stdout.splitlines()[-1]}"


def test_make_run_in_a_terminal_starts_the_chat(desk: Desk, recipe: str) -> None:
    """An empty store, no model: the welcome says so, and the chat exits cleanly."""
    terminal = desk.program("bash", "-c", recipe)
    terminal.wait_for("Backscroll", "Welcome.", "No model is configured yet", READY)
    terminal.type(CTRL_D)
    assert terminal.wait_for_end() == 0


def test_make_run_in_a_pipe_is_a_demonstration(tmp_path: Path, recipe: str) -> None:
    """The tour is printed whole, the user's own store is not created, and the demo's is removed."""
    place = tmp_path / "place"
    place.mkdir()
    store = tmp_path / "store.db"
    done = subprocess.run(
        ["bash", "-c", recipe],
        stdin=subprocess.DEVNULL,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "LANG": "C.UTF-8",
            "TMPDIR": str(place),
            "BACKSCROLL_STORE": str(store),
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout
    assert "$ backscroll import" in done.stdout
    assert not store.exists()
    assert list(place.iterdir()) == []
