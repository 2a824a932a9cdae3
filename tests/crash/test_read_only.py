"""A store that may only be read: everything in it is readable, and whoever wants to write is told why not."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import backscroll
from tests import programs
from tests.contracts.talk import say

ROOT = Path(backscroll.__file__).parents[1]

#: Run by root, it gives up root's rights before it opens the store. Somebody without rights may not be able to load modules
#: from a private folder, so everything is tried out before.
LOOK = """
import os, sys, tempfile
import backscroll

with tempfile.TemporaryDirectory() as place, backscroll.open(place + "/store.db") as engine:
    engine.create("warm").append("user", "one")
    assert engine.search("one").hits and engine.verify().ok
    engine.create("gone").forget_thread()
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
engine = backscroll.open(sys.argv[1])
(info,) = engine.threads()
thread = engine.thread(info.id)
assert [m.text for m in thread] == sys.argv[2].split(","), [m.text for m in thread]
assert len(engine.search("one").hits) == 1
assert engine.verify().ok, engine.verify().flaws
for work in (
    lambda: thread.append("user", "x"),
    lambda: engine.create("x"),
    lambda: thread.forget_thread(),
    lambda: engine.put_blob(b"x"),
):
    try:
        work()
    except backscroll.StoreError as error:
        assert "read-only" in error.message, error
        assert error.hint
    else:
        raise SystemExit("it was written to")
print([m.text for m in thread][-1])
engine.close()
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that everybody may look into, unlike those of pytest."""
    place = Path(tempfile.mkdtemp(prefix="backscroll-read-only-"))
    place.chmod(0o755)
    yield place
    place.chmod(0o755)
    shutil.rmtree(place)


def store_in(folder: Path) -> Path:
    """A store with a few words, closed."""
    with backscroll.open(folder / "store.db") as engine:
        say(engine.create("kept"), "u one", "a two")
    return folder / "store.db"


def looked(place: Path, *words: str) -> str:
    """What somebody without rights, who looks at a store, has to complain about."""
    command = [sys.executable, "-c", LOOK, str(place), ",".join(words)]
    home = {**os.environ, "HOME": "/nonexistent"}  # that of the test is not for others to see
    return programs.run(command, cwd=ROOT, env=home, capture_output=True, text=True, check=False).stderr


def contents(folder: Path) -> dict[str, bytes]:
    """All files but the one of SQLite's locks."""
    return {p.name: p.read_bytes() for p in folder.iterdir() if not p.name.endswith("-shm")}


def test_read_only_file_is_readable(folder: Path) -> None:
    """A store without the right to write is read; nothing in it changes."""
    place = store_in(folder)
    place.chmod(0o444)
    before = contents(folder)
    assert looked(place, "one", "two") == ""
    assert contents(folder) == before


def test_store_in_a_read_only_folder_is_readable(folder: Path) -> None:
    """Although SQLite cannot create its lock file there."""
    place = store_in(folder)
    folder.chmod(0o555)
    before = contents(folder)
    assert looked(place, "one", "two") == ""
    assert contents(folder) == before


def test_leftover_write_ahead_log_is_read(folder: Path) -> None:
    """Although it cannot be checkpointed."""
    place = store_in(folder)
    script = (
        "import os, sys, backscroll; e = backscroll.open(sys.argv[1]); t = next(iter(e.threads()));"
        "e.thread(t.id).append('user', 'three'); os._exit(9)"
    )
    programs.run([sys.executable, "-c", script, str(place)], cwd=ROOT, check=False)
    assert (folder / "store.db-wal").stat().st_size > 0
    for path in folder.iterdir():
        path.chmod(0o644)
    folder.chmod(0o555)
    before = contents(folder)
    assert looked(place, "one", "two", "three") == ""
    assert contents(folder) == before


def test_unreadable_write_ahead_log_is_an_error(folder: Path) -> None:
    """Without SQLite's file of locks the log cannot be used there: that is an error, not an older state of things."""
    place = store_in(folder)
    script = (
        "import os, sys, backscroll; e = backscroll.open(sys.argv[1]); t = next(iter(e.threads()));"
        "e.thread(t.id).append('user', 'three'); os._exit(9)"
    )
    programs.run([sys.executable, "-c", script, str(place)], cwd=ROOT, check=False)
    (folder / "store.db-shm").unlink()
    folder.chmod(0o555)
    said = looked(place, "one", "two", "three")
    assert "StoreError" in said
    assert "AssertionError" not in said


def test_unreadable_store_is_a_clear_error(folder: Path) -> None:
    """A file or folder without any permission."""
    place = store_in(folder)
    place.chmod(0o000)
    assert "backscroll.errors.StoreError" in looked(place, "one", "two")
    folder.chmod(0o000)
    assert "backscroll.errors.StoreError" in looked(place, "one", "two")
