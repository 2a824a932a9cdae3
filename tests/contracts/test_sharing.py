"""One store, many hands: handles, OS threads and processes agree, and nobody's work gets lost."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import backscroll
from tests import programs
from tests.contracts.talk import kinds, say, texts


def test_opening_a_store_twice_returns_the_same_engine(
    store: backscroll.Engine, reopen: Callable[[], backscroll.Engine]
) -> None:
    """Within one process a store has one engine, which lives until its last user closes it."""
    again = reopen()
    assert again is store
    again.close()
    thread = store.create("still open")
    assert texts(store.thread(thread.id)) == []


def test_closed_store_raises_a_clear_error(store_url: str) -> None:
    """Opening it again restores access."""
    engine = backscroll.open(store_url)
    thread = engine.create("x")
    say(thread, "u a")
    engine.close()
    for work in (lambda: list(thread), lambda: thread.append("user", "b"), lambda: engine.create("y")):
        with pytest.raises(backscroll.StoreError, match="closed"):
            work()
    with backscroll.open(store_url) as engine:
        assert texts(engine.thread(thread.id)) == ["a"]


def test_two_handles_on_a_thread_see_the_same_state(store: backscroll.Engine) -> None:
    """What one handle does the other sees at once: neither keeps anything of its own."""
    one = store.create("x")
    two = store.thread(one.id, actor="user:bob")
    (message,) = say(one, "u a")
    two.edit(message.id, "b")
    assert texts(one) == ["b"]
    one.rename("y")
    assert two.info.title == "y"
    assert (len(one), one.head) == (len(two), two.head)


def test_eight_threads_append_to_one_conversation(store: backscroll.Engine) -> None:
    """Nothing is lost, numbers have no gaps, and each writer's messages keep their order."""
    thread = store.create("crowd")
    start = threading.Barrier(8)

    def work(number: int) -> list[backscroll.Message]:
        mine = thread.as_actor(f"user:{number}")
        start.wait()
        return [mine.append("user", f"{number} {n}") for n in range(25)]

    with ThreadPoolExecutor(8) as pool:
        said = [message for messages in pool.map(work, range(8)) for message in messages]
    assert sorted(m.id.seq for m in said) == list(range(2, 202))
    assert {m.id: m.text for m in said} == {m.id: m.text for m in thread}
    for number in range(8):
        assert [m.text for m in thread if m.text.startswith(f"{number} ")] == [
            f"{number} {n}" for n in range(25)
        ]
    assert store.verify().ok


def test_eight_threads_work_on_several_conversations(store: backscroll.Engine) -> None:
    """Appending, editing, deleting, forking and reading at once on several threads loses and mixes up nothing."""
    crowd = [store.create(str(n)) for n in range(4)]
    start = threading.Barrier(8)
    failed: list[BaseException] = []

    def work(number: int) -> None:
        try:
            start.wait()
            for n in range(12):
                thread = crowd[(number + n) % 4].as_actor(f"user:{number}")
                message = thread.append("user", f"{number} {n}")
                thread.edit(message.id, f"{number} {n} edited", seen=message.revision)
                if n % 4 == 0:
                    thread.delete(message.id)
                    thread.undo()
                if n % 6 == 0:
                    fork = thread.fork(message.id)
                    fork.append("assistant", f"fork {number}")
                    assert fork.message(-2).id == message.id
                assert thread.message(message.id).text == f"{number} {n} edited"
        except BaseException as error:
            failed.append(error)
            raise

    workers = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert failed == []
    assert sorted(text for thread in crowd for text in texts(thread)) == sorted(
        f"{number} {n} edited" for number in range(8) for n in range(12)
    )
    assert len(list(store.threads())) == 4 + 16


def test_only_one_of_concurrent_edits_of_a_revision_succeeds(store: backscroll.Engine) -> None:
    """Of eight edits based on the same revision, seven are conflicts."""
    thread = store.create()
    (message,) = say(thread, "u original")
    start = threading.Barrier(8)

    def work(number: int) -> bool:
        start.wait()
        try:
            thread.as_actor(f"user:{number}").edit(message.id, str(number), seen=message.revision)
        except backscroll.Conflict:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(work, range(8)))
    assert sum(won) == 1
    assert texts(thread) == [str(won.index(True))]
    assert kinds(thread) == ["created", "appended", "edited"]


def test_readers_never_see_half_an_operation(store: backscroll.Engine) -> None:
    """They see all of several deleted messages or none."""
    thread = store.create()
    messages = say(thread, *(f"u {n}" for n in range(20)))
    done = threading.Event()
    seen: set[int] = set()

    def read() -> None:
        while not done.is_set():
            seen.add(len(texts(thread.recent(50))))

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for _ in range(15):
        thread.delete(*(m.id for m in messages))
        thread.undo()
    done.set()
    for reader in readers:
        reader.join()
    assert seen <= {0, 20}
    assert 20 in seen


def test_failed_operation_does_not_affect_concurrent_writers(store: backscroll.Engine) -> None:
    """While others write, operations that are refused take nothing of theirs with them."""
    thread = store.create()
    (message,) = say(thread, "u a")
    start = threading.Barrier(8)

    def work(number: int) -> int:
        start.wait()
        refused = 0
        for n in range(10):
            if number % 2:
                thread.append("user", f"{number} {n}")
            else:
                try:
                    thread.edit(message.id, "x", seen=backscroll.Ref("0" * 32, 1))
                except backscroll.Conflict:
                    refused += 1
        return refused

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(work, range(8))) == 40
    assert len(thread) == 41
    assert kinds(thread) == ["created"] + ["appended"] * 41


FORKING = """
import os, sys
import backscroll

engine = backscroll.open(sys.argv[1])
thread = engine.create("forked")
thread.append("user", "parent 0")
list(thread)
to_child, from_parent = os.pipe(), os.pipe()
pid = os.fork()
if pid == 0:
    os.close(from_parent[1])  # so that the child ends when its parent dies
    mine = thread if sys.argv[2] == "inherited" else backscroll.open(sys.argv[1]).thread(thread.id)
    for n in range(20):
        mine.append("user", f"child {n}")
    os.write(to_child[1], b"x")
    os.read(from_parent[0], 1)
    for n in range(20, 40):
        mine.append("user", f"child {n}")
    assert len(mine) == 61, len(mine)
    os._exit(0)
for n in range(1, 21):
    thread.append("user", f"parent {n}")
os.read(to_child[0], 1)
engine.close()
os.write(from_parent[1], b"x")
assert os.waitpid(pid, 0)[1] == 0
with backscroll.open(sys.argv[1]) as engine:
    found = [m.text for m in engine.thread(thread.id)]
assert sorted(found) == sorted([f"parent {n}" for n in range(21)] + [f"child {n}" for n in range(40)]), found
"""


@pytest.mark.parametrize("handle", ["inherited", "reopened"])
def test_forked_process_can_use_an_open_store(
    store: backscroll.Engine, store_url: str, tmp_path: Path, handle: str
) -> None:
    """A child that inherited an open store writes through it or through its own, and the parent's closing takes nothing away."""
    root = Path(backscroll.__file__).parents[1]
    done = programs.run(
        [sys.executable, "-c", FORKING, store_url, handle],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_writes_of_another_process_are_visible_at_once(store: backscroll.Engine, store_url: str) -> None:
    """Without reopening the store."""
    thread = store.create("here")
    (message,) = say(thread, "u a")
    script = (
        "import sys, backscroll\n"
        "with backscroll.open(sys.argv[1]) as s:\n"
        "    t = s.thread(sys.argv[2], actor='other')\n"
        "    t.edit(sys.argv[3], 'b')\n"
        "    t.append('assistant', 'c')\n"
        "    s.create('there').append('user', 'd')\n"
    )
    root = Path(backscroll.__file__).parents[1]
    command = [sys.executable, "-c", script, store_url, thread.id, str(message.id)]
    programs.run(command, cwd=root, check=True)
    assert texts(thread) == ["b", "c"]
    assert [t.title for t in store.threads()] == ["there", "here"]
    say(thread, "u e")
    assert [e.seq for e in thread.events()] == [1, 2, 3, 4, 5]
