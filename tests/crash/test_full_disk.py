"""A disk that is full: a clear error, nothing half-written, and everything that was there is still there."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import backscroll
from backscroll.stores.sqlite.store import SqliteStore
from tests import programs, proof
from tests.contracts.talk import say, texts

ROOT = Path(backscroll.__file__).parents[1]


def fill(thread: backscroll.Thread) -> tuple[int, backscroll.StoreError]:
    """Append until the store can take no more; gives how often it could, and what it said then."""
    for count in range(10_000):
        try:
            thread.append("user", f"{count} " + "x" * 5000)
        except backscroll.StoreError as error:
            return count, error
    raise AssertionError("the disk never filled up")


def test_write_is_refused_at_the_size_limit_of_sqlite(sqlite_url: str) -> None:
    """Reading still works, and so does writing once there is room."""
    with backscroll.open(sqlite_url) as engine:
        thread = engine.create("full")
        say(thread, "u first")
        store = engine.store
        assert isinstance(store, SqliteStore)
        assert store._writer is not None
        store._writer.execute("PRAGMA max_page_count = 120")
        count, error = fill(thread)
        assert "full" in error.message
        assert "nothing" in error.hint
        assert len(thread) == count + 1
        with pytest.raises(backscroll.StoreError):
            thread.append("user", "x" * 50_000)
        with pytest.raises(backscroll.StoreError):
            engine.put_blob(bytes(500_000))
        assert texts(thread)[0] == "first"
        assert len(engine.search("first").hits) == 1
        proof.assert_sound(engine)
        store._writer.execute("PRAGMA max_page_count = 100000")
        say(thread, "u more room")
        assert len(thread) == count + 2
        proof.assert_sound(engine)


def test_threads_know_their_stored_messages_on_a_full_disk(sqlite_url: str) -> None:
    """When the disk fills up under several OS threads, each of them knows which of its messages are in."""
    with backscroll.open(sqlite_url) as engine:
        threads = [engine.create(str(n)) for n in range(8)]
        store = engine.store
        assert isinstance(store, SqliteStore)
        assert store._writer is not None
        store._writer.execute("PRAGMA max_page_count = 300")
        with ThreadPoolExecutor(8) as pool:
            outcomes = list(pool.map(fill, threads))
        for thread, (count, error) in zip(threads, outcomes, strict=True):
            assert len(thread) == count
            assert "full" in error.message
            assert error.hint
        proof.assert_sound(engine)
        store._writer.execute("PRAGMA max_page_count = 100000")
        made = engine.create("after")
        say(made, "u works again")
        assert texts(made) == ["works again"]
        proof.assert_sound(engine)


LIMITED = """
import resource, sys
import backscroll
from backscroll.errors import StoreError

engine = backscroll.open(sys.argv[1])
thread = engine.thread(sys.argv[2])
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), hard))
count = 0
try:
    while count < 5000:
        thread.append("user", f"{count} " + "y" * 3000)
        count += 1
except StoreError as error:
    assert error.hint, error
else:
    raise SystemExit("no error")
assert len(thread) == count + 2, (len(thread), count)
assert [m.text for m in thread][:2] == ["one", "two"]
engine.search("one")
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
thread.append("user", "after")
print(count)
"""


def test_write_works_again_after_a_file_size_limit(sqlite_url: str) -> None:
    """Where the system refuses to write on, nothing is lost; in the same process it works again once there is room."""
    with backscroll.open(sqlite_url) as engine:
        thread = engine.create("limited")
        say(thread, "u one", "a two")
    limit = Path(sqlite_url).stat().st_size + 400_000
    command = [sys.executable, "-c", LIMITED, sqlite_url, thread.id, str(limit)]
    done = programs.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    with backscroll.open(sqlite_url) as engine:
        assert len(engine.thread(thread.id)) == int(done.stdout) + 3
        proof.assert_sound(engine)


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one megabyte."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a file system can be mounted by root only")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_store_on_a_full_disk_is_readable_and_recovers(tiny_disk: Path) -> None:
    """On a full file system the store is readable, and a forget frees room for new writes."""
    with backscroll.open(tiny_disk / "store.db") as engine:
        thread = engine.create("disk")
        say(thread, "u first")
        count, error = fill(thread)
        assert error.hint
        assert len(thread) == count + 1
        proof.assert_sound(engine)
        with pytest.raises(backscroll.StoreError):
            engine.put_blob(bytes(1_000_000))
    with backscroll.open(tiny_disk / "store.db") as engine:
        thread = engine.thread(thread.id)
        assert texts(thread)[0] == "first"
        assert len(thread) == count + 1
        assert len(engine.search("first").hits) == 1
        assert engine.verify().ok


def test_creating_a_store_on_a_full_disk_is_a_clear_error(tiny_disk: Path) -> None:
    """A store that cannot even be made is a clear error."""
    (tiny_disk / "ballast").write_bytes(bytes(1_040_000))
    with pytest.raises(backscroll.StoreError) as refused:
        backscroll.open(tiny_disk / "store.db")
    assert refused.value.hint
    (tiny_disk / "ballast").unlink()
    with backscroll.open(tiny_disk / "store.db") as engine:
        engine.create("now")
        proof.assert_sound(engine)


def test_size_limit_of_children_does_not_apply_here() -> None:
    """The limits that these tests set are those of their children."""
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY
