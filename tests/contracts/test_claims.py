"""Background work: each thread is held by one worker at a time, none is lost, and a lease ends by itself."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import backscroll
from tests import programs
from tests.contracts.talk import say

HOUR = 3_600_000_000
NOW = 1_000 * HOUR


def claim(
    store: backscroll.Engine, worker: str, now: int = NOW, recipe: str = "gist"
) -> tuple[str, int] | None:
    return store.store.write(lambda tx: tx.claim(recipe, worker, now, now + HOUR))


def done(store: backscroll.Engine, thread: str, seen: int, recipe: str = "gist") -> None:
    store.store.write(lambda tx: tx.set_progress(thread, recipe, seen))


def behind(store: backscroll.Engine, recipe: str = "gist") -> list[tuple[str, int]]:
    return store.store.read(lambda r: r.behind(recipe, 100))


def test_claimed_thread_is_held_until_done(store: backscroll.Engine, thread: backscroll.Thread) -> None:
    """No other worker gets it; once done, there is nothing to do until the log grows."""
    assert claim(store, "ann") == (thread.id, 0)
    assert claim(store, "ben") is None
    assert claim(store, "ann") is None
    assert behind(store) == [(thread.id, 0)]
    head = thread.head
    done(store, thread.id, head)
    assert store.store.read(lambda r: r.progress(thread.id, "gist")) == head
    assert (claim(store, "ben"), behind(store)) == (None, [])
    say(thread, "u more")
    assert behind(store) == [(thread.id, head)]
    assert claim(store, "ben") == (thread.id, head)


def test_claim_expires_with_its_lease(store: backscroll.Engine, thread: backscroll.Thread) -> None:
    """A dead worker loses its thread when the lease ends, not before."""
    assert claim(store, "ann", NOW) is not None
    assert claim(store, "ben", NOW + HOUR - 1) is None
    assert claim(store, "ben", NOW + HOUR) == (thread.id, 0)
    assert claim(store, "ann", NOW + HOUR + 1) is None


def test_claims_are_separate_per_recipe(store: backscroll.Engine, thread: backscroll.Thread) -> None:
    """Each recipe has its own progress and its own holders."""
    assert claim(store, "ann", recipe="gist") is not None
    assert claim(store, "ben", recipe="vectors") == (thread.id, 0)
    done(store, thread.id, 1, recipe="vectors")
    assert behind(store, "vectors") == []
    assert behind(store, "gist") == [(thread.id, 0)]


def test_rolled_back_claim_is_released(store: backscroll.Engine, thread: backscroll.Thread) -> None:
    """A transaction that fails after its claim leaves the thread to others."""

    class Regret(Exception):
        pass

    def work(tx: Any) -> None:
        assert tx.claim("gist", "ann", NOW, NOW + HOUR) is not None
        raise Regret

    try:
        store.store.write(work)
    except Regret:
        assert claim(store, "ben") == (thread.id, 0)


def test_forget_resets_progress(store: backscroll.Engine, thread: backscroll.Thread) -> None:
    """What a worker saw before the forget does not count, whether it is finished or not."""
    a, b = say(thread, "u a secret", "u no secret")
    assert claim(store, "ann") == (thread.id, 0)
    seen = thread.head
    thread.forget(a.id)
    done(store, thread.id, seen)  # ann knows nothing of the forget
    assert claim(store, "ben") == (thread.id, 0)
    done(store, thread.id, thread.head)
    assert behind(store) == []
    thread.forget(b.id)
    assert behind(store) == [(thread.id, 0)]
    done(store, thread.id, thread.head)  # nobody was at work: this is what was really seen
    assert behind(store) == []


def test_workers_of_one_process_claim_each_thread_once(store: backscroll.Engine) -> None:
    """Eight workers, forty conversations: each is done exactly once."""
    made = {store.create(f"t{n}").id for n in range(40)}
    taken: list[str] = []
    errors: list[BaseException] = []

    def work(name: str) -> None:
        try:
            while (got := claim(store, name)) is not None:
                taken.append(got[0])
                done(store, got[0], 1)
        except BaseException as error:  # noqa: BLE001 - raised below, in the thread of the test
            errors.append(error)

    workers = [threading.Thread(target=work, args=(f"w{n}",)) for n in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert errors == []
    while (got := claim(store, "last")) is not None:  # a worker leaves where all that is left is being taken
        taken.append(got[0])
        done(store, got[0], 1)
    assert Counter(taken) == dict.fromkeys(made, 1)
    assert behind(store) == []


_WORKER = """
import sys, time
import backscroll
url, name = sys.argv[1:]
with backscroll.open(url) as engine:
    print("ready", flush=True)
    sys.stdin.readline()
    idle = 0
    while idle < 3:
        got = engine.store.write(lambda tx: tx.claim("gist", name, 1, 2))
        if got is None:
            idle += 1
            time.sleep(0.02)
        else:
            print(got[0], flush=True)
"""


def test_several_processes_claim_each_thread_once(store: backscroll.Engine, store_url: str) -> None:
    """Three processes claim concurrently and get every thread exactly once."""
    made = {store.create(f"t{n}").id for n in range(30)}
    root = str(Path(backscroll.__file__).parent.parent)
    running = [
        programs.start(
            [sys.executable, "-c", _WORKER, store_url, f"p{n}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=root,
        )
        for n in range(3)
    ]
    taken: list[str] = []
    for program in running:
        assert program.stdout is not None
        assert program.stdout.readline() == "ready\n"
    for program in running:
        assert program.stdin is not None
        program.stdin.write("go\n")
        program.stdin.flush()
    for program in running:
        out, _ = program.communicate(timeout=120)
        assert program.returncode == 0
        taken += out.split()
    while (got := store.store.write(lambda tx: tx.claim("gist", "last", 1, 2))) is not None:
        taken.append(got[0])
    assert Counter(taken) == dict.fromkeys(made, 1)
