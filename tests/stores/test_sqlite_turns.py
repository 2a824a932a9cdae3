"""Processes that write to one file are served in order, and killed ones are not waited for."""

from __future__ import annotations

import os
import random
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import backscroll
from backscroll.config import Settings
from backscroll.engine.engine import Engine
from backscroll.record.ports import Writer
from backscroll.stores.sqlite import turns as module
from backscroll.stores.sqlite.store import SqliteStore
from backscroll.stores.sqlite.turns import WriteQueue
from tests import programs

ROOT = Path(backscroll.__file__).parents[1]
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no queue on this system")

WRITER = """
import sys
from pathlib import Path
import backscroll
with backscroll.open(sys.argv[1], background=False) as store:
    thread = store.thread(sys.argv[2])
    print("ready", flush=True)
    for line in sys.stdin:
        thread.append("user", line.strip())
        print("done", flush=True)
"""


def eventually(true: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not true():
        assert time.monotonic() < until
        time.sleep(0.001)


def drawn(path: Path) -> int:
    """How many numbers were drawn so far."""
    try:
        head = path.with_name(path.name + "-turns").read_bytes()[:8]
    except FileNotFoundError:
        return 0
    return struct.unpack("<Q", head)[0] if len(head) == 8 else 0


@pytest.mark.parametrize("seed", range(4))
def test_writers_are_served_in_order(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """While one process writes, three others queue; afterwards it queues last."""
    monkeypatch.setattr(module, "_SLICE", 0.0)
    path, dice = tmp_path / "store.db", random.Random(seed)
    with backscroll.open(path, background=False) as store:
        thread = store.create("x")
        command = [sys.executable, "-c", WRITER, str(path), thread.id]
        pipes: dict[str, Any] = {
            "stdin": subprocess.PIPE,
            "stdout": subprocess.PIPE,
            "text": True,
            "cwd": ROOT,
        }
        writers: list[Any] = [programs.start(command, **pipes) for _ in range(3)]
        try:
            assert [writer.stdout.readline() for writer in writers] == ["ready\n"] * 3
            wanted: list[str] = []
            for lap in range(3):
                order = dice.sample(range(3), 3)

                def work(_tx: Writer, order: list[int] = order, lap: int = lap) -> None:
                    for number in order:
                        before = drawn(path)
                        writers[number].stdin.write(f"{lap}: {number}\n")
                        writers[number].stdin.flush()
                        eventually(lambda before=before: drawn(path) > before)

                store.store.write(work)
                thread.append("user", f"{lap}: again")
                assert [writer.stdout.readline() for writer in writers] == ["done\n"] * 3
                wanted += [*(f"{lap}: {number}" for number in order), f"{lap}: again"]
            assert [m.text for m in thread] == wanted
        finally:
            for writer in writers:
                writer.stdin.close()
                assert writer.wait(60) == 0
                writer.stdout.close()


def test_killed_writers_block_no_one(tmp_path: Path) -> None:
    """Killed while waiting or during their turn; the others keep their order."""
    path, log, dice = tmp_path / "store.db", tmp_path / "log", random.Random(5)
    children = [fork(lambda: take_turns(path, log, 40)) for _ in range(8)]
    for child in dice.sample(children, 4):
        time.sleep(0.01)
        os.kill(child, signal.SIGKILL)
    for child in children:
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) in (0, -signal.SIGKILL)
    numbers = [int(line) for line in log.read_text().split()]
    assert numbers == sorted(numbers)
    assert len(numbers) >= 4 * 40  # everybody who lived came to an end


def take_turns(path: Path, log: Path, count: int) -> None:
    """Take turns and note them; two at a time would be noted out of order."""
    turns = WriteQueue(path)
    draw = turns._draw
    numbers: list[int | None] = []
    turns._draw = lambda deadline: (numbers.append(draw(deadline)), numbers[-1])[1]
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for _ in range(count):
        with turns.take_turn(time.monotonic() + 60):
            os.write(file, f"{numbers[-1]}\n".encode())


def fork(work: Callable[[], None]) -> int:
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        work()
        code = 0
    finally:
        os._exit(code)


def test_turn_covers_several_writes_and_then_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy writer continues within its turn; one that does not return is no longer waited for."""
    monkeypatch.setattr(module, "_SLICE", 3600.0)
    monkeypatch.setattr(module, "_BREATH", 1800.0)
    far = time.monotonic() + 3600
    first, second = WriteQueue(tmp_path / "a.db"), WriteQueue(tmp_path / "a.db")
    with first.take_turn(far):
        waits = second._draw(far)
    with first.take_turn(far):  # in the same turn: no number was drawn in between
        assert drawn(tmp_path / "a.db") == 2
    monkeypatch.setattr(module, "_BREATH", 0.0)
    with first.take_turn(far):
        pass  # its turn may be kept, but nobody has to wait for it now
    assert waits == 1
    second._wait(waits, far)
    second._unlock(module._FIRST + waits)
    with first.take_turn(far):
        assert first._number == 2
    with second.take_turn(far):  # those that were kept and never ended are not waited for either
        assert second._number == 3
    first.close()
    second.close()
    assert list(tmp_path.iterdir()) == []


def test_two_stores_of_one_process_take_turns(tmp_path: Path) -> None:
    """Open-file locks, if the system has them, apply between two of them as well."""
    first, second = WriteQueue(tmp_path / "a.db"), WriteQueue(tmp_path / "a.db")
    late = time.monotonic()
    with first.take_turn(late + 60):
        assert first._draw(late) == 1
        with second.take_turn(late):  # past its deadline: it goes on without waiting
            assert second._works
    first.close()
    second.close()
    assert list(tmp_path.iterdir()) == []  # nobody is left, and no file


@pytest.mark.parametrize("how", ["no locks", "no file"])
def test_writing_works_without_a_queue(tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No file locks, or the name is taken: SQLite alone decides who writes."""
    path = tmp_path / "store.db"
    if how == "no file":
        path.with_name("store.db-turns").mkdir()
    else:

        def refuse(*_arguments: object, **_options: object) -> bool:
            raise OSError(38, "not here")

        monkeypatch.setattr(module, "_lock", refuse)
    with closing(SqliteStore(path)) as store:
        thread = Engine(store, Settings()).create("x")
        thread.append("user", "one")
        assert [m.text for m in thread] == ["one"]


def test_continued_turn_is_not_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer that is held up between looking and writing down that it goes on must not give the turn back to its old number.

    Else others wait for numbers that were kept and never come again: for as long as their owners have nothing to write.
    """
    monkeypatch.setattr(module, "_SLICE", 1000.0)
    slow, idle, last = (WriteQueue(tmp_path / "store.db") for _ in range(3))
    soon = time.monotonic() + 60

    def kept(turns: WriteQueue, *, by: WriteQueue) -> None:
        """Take a turn and keep it, because another one waits."""
        with turns.take_turn(soon):
            by._number = by._draw(soon)  # it waits

    kept(slow, by=idle)
    assert slow._number is not None
    time.sleep(2 * module._BREATH)  # it did not come again
    assert idle._number is not None
    idle._wait(idle._number, soon)
    slow._kept = soon  # it looked before its time was over, and was held up since
    assert not slow._go_on()
    slow._end()
    assert struct.unpack("<QQ", (tmp_path / "store.db-turns").read_bytes()[8:24])[0] == idle._number
    last._number = last._draw(soon)
    assert idle._keep(idle._number)  # and then it has nothing to write
    time.sleep(2 * module._BREATH)
    assert last._number is not None
    last._wait(last._number, time.monotonic() + 1)
    assert last._over > 0, "it waited for a number that was kept"
    for turns in (slow, idle, last):
        turns.close()
