"""Background work: made ahead of time, by one worker at a time, resumed where it stopped; failures are told."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

import backscroll
from backscroll.engine.background import worker as background
from backscroll.engine.background.worker import JOB, LEASE, Worker, bring_up_to_date
from backscroll.engine.engine import Engine
from backscroll.engine.thread import Thread
from backscroll.errors import StoreError

STORES = [
    pytest.param("sqlite_url", id="sqlite"),
    pytest.param("prepared_url", id="postgres", marks=pytest.mark.postgres),
]
NAME = "backscroll-background"


@pytest.fixture(params=STORES)
def url(request: pytest.FixtureRequest) -> str:
    return request.getfixturevalue(request.param)


@pytest.fixture
def engine(url: str) -> Iterator[Engine]:
    with closing(backscroll.open(url, background=False, encoder="none")) as opened:
        yield opened
    assert names() == []


def names() -> list[str]:
    return [t.name for t in threading.enumerate() if t.name == NAME]


def talk(engine: Engine, title: str, turns: int = 3) -> Thread:
    made = engine.create(title)
    for n in range(turns):
        made.append("user", f"{title}: question {n} about the harbour, please keep port 80{n:02}")
        made.append("assistant", f"{title}: answer {n}, we decided to keep it because the tests need it")
    return made


def behind(engine: Engine) -> set[str]:
    return {name for name, _ in engine.store.read(lambda reader: reader.behind(JOB, 100))}


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Counts the work on each thread, instead of doing it."""
    counted: Counter[str] = Counter()

    def step(_engine: Engine, thread: str, _limit: int) -> int:
        counted[thread] += 1
        return 1

    monkeypatch.setattr(background, "steps", lambda _engine: [step])
    return counted


def test_worker_processes_everything_due_once(engine: Engine) -> None:
    """A second run finds nothing to do until something is written."""
    one, two = talk(engine, "one"), talk(engine, "two")
    worker = Worker(engine)
    assert worker.run() == 2
    assert worker.progress.threads == 2
    assert worker.progress.made > 0
    assert behind(engine) == set()
    before = worker.progress.made
    assert worker.run() == 0
    one.append("user", "one more thing")
    assert behind(engine) == {one.id}
    assert worker.run() == 1
    assert two.id not in behind(engine)
    assert worker.progress.made >= before


def test_worker_run_respects_its_limit(engine: Engine, made: Counter[str]) -> None:
    for name in ("one", "two", "three"):
        talk(engine, name, 1)
    assert Worker(engine).run(limit=2) == 2
    assert len(made) == 2
    assert len(behind(engine)) == 1


def test_prompt_is_the_same_with_and_without_a_worker(url: str, engine: Engine) -> None:
    """Derived data made ahead equals data made on demand."""
    thread = talk(engine, "long", 40)
    expected = thread.prompt(1500, recall=False, dry_run=True)
    bring_up_to_date(engine, thread.id)
    assert thread.prompt(1500, recall=False, dry_run=True).messages == expected.messages


def test_background_worker_starts_with_a_prompt_and_ends_with_close(url: str) -> None:
    """A prompt starts it, writing wakes it, closing ends it: no thread is left."""
    opened = backscroll.open(url, encoder="none")
    thread = talk(opened, "alone")
    assert names() == []
    thread.prompt(4000)
    assert names() == [NAME]
    opened.worker().start()
    assert names() == [NAME]
    assert opened.worker().working
    thread.append("user", "more")
    waited = threading.Event()
    for _ in range(400):
        if not behind(opened):
            break
        waited.wait(0.05)
    assert behind(opened) == set()
    opened.close()
    assert names() == []


def test_no_worker_starts_if_background_is_off(engine: Engine) -> None:
    talk(engine, "quiet").prompt(4000)
    assert names() == []
    assert not engine.worker().working


def test_failed_thread_is_reported_and_others_are_processed(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One broken thread is counted with its reason; the others are done, and it is tried again when it changes."""
    broken, *others = [talk(engine, name) for name in ("broken", "two", "three")]
    failing = {broken.id}

    def step(_engine: Engine, thread: str, _limit: int) -> int:
        if thread in failing:
            raise ValueError("no such harbour")
        return 1

    monkeypatch.setattr(background, "steps", lambda _engine: [step])
    worker = Worker(engine)
    assert worker.run() == 2
    assert worker.progress.failed == 1
    assert worker.progress.last_error == "ValueError: no such harbour"
    assert behind(engine) == {broken.id}
    assert worker.run() == 0
    assert worker.progress.failed == 1
    worker.stop()
    failing.clear()
    assert Worker(engine).run() == 1
    assert behind(engine) == set()
    assert [t.id in behind(engine) for t in others] == [False, False]


def test_failed_thread_is_retried_only_after_a_change(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same event is not tried again and again by the same worker, even when the lease has run out."""
    thread = talk(engine, "broken")
    tried: list[str] = []

    def step(_engine: Engine, name: str, _limit: int) -> int:
        tried.append(name)
        raise ValueError("no")

    monkeypatch.setattr(background, "steps", lambda _engine: [step])
    worker = Worker(engine)
    clock = Clock(engine, monkeypatch)
    worker.run()
    clock.later(LEASE + 1)
    worker.run()
    assert len(tried) == 1
    thread.append("user", "now it is different")
    clock.later(LEASE + 1)
    worker.run()
    assert len(tried) == 2


class Clock:
    """The engine's clock, moved by hand."""

    def __init__(self, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
        from dataclasses import replace

        self._base = engine.means.now()
        self._seconds = 0.0
        monkeypatch.setattr(engine, "means", replace(engine.means, now=self.now))

    def later(self, seconds: float) -> None:
        self._seconds += seconds

    def now(self) -> str:
        from datetime import datetime, timedelta

        return (datetime.fromisoformat(self._base) + timedelta(seconds=self._seconds)).isoformat()


def test_stopped_worker_releases_its_thread(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next worker can claim the thread at once."""
    thread = talk(engine, "interrupted")
    first = Worker(engine)

    def stopping(_engine: Engine, _thread: str, _limit: int) -> int:
        first.stop()
        return background.STRIDE

    monkeypatch.setattr(background, "steps", lambda _engine: [stopping])
    assert first.run() == 0
    assert behind(engine) == {thread.id}
    monkeypatch.undo()
    assert Worker(engine).run() == 1
    assert behind(engine) == set()


def test_long_work_releases_its_claim_in_time(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """No worker continues on a thread after its lease has expired; the work is still finished."""
    thread = talk(engine, "long")
    clock = Clock(engine, monkeypatch)
    left = [background.STRIDE, background.STRIDE, background.STRIDE, 1]
    calls: list[int] = []

    def slow(_engine: Engine, _thread: str, _limit: int) -> int:
        clock.later(LEASE - 1)
        calls.append(1)
        return left.pop(0) if left else 0

    monkeypatch.setattr(background, "steps", lambda _engine: [slow])
    worker = Worker(engine)
    assert worker.run() == 0 or behind(engine) == set()
    while behind(engine):
        worker.run()
        assert len(calls) < 20
    assert left == []
    assert worker.progress.failed == 0
    assert thread.id not in behind(engine)


def test_claim_of_a_dead_worker_expires(
    engine: Engine, made: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    thread = talk(engine, "orphan")
    clock = Clock(engine, monkeypatch)
    now = Worker(engine)._now()
    engine.store.write(lambda tx: tx.claim(JOB, "who died", now, now + LEASE * 1_000_000))
    assert Worker(engine).run() == 0
    clock.later(LEASE)
    assert Worker(engine).run() == 1
    assert made == {thread.id: 1}


def test_concurrent_workers_process_each_thread_once(engine: Engine, made: Counter[str]) -> None:
    """Three workers share eight threads."""
    wanted = {talk(engine, f"thread {n}", 1).id for n in range(8)}
    workers = [Worker(engine) for _ in range(3)]
    begin = threading.Barrier(3)

    def work(worker: Worker) -> None:
        begin.wait()
        worker.run()

    running = [threading.Thread(target=work, args=(worker,)) for worker in workers]
    for one in running:
        one.start()
    for one in running:
        one.join()
    assert made == dict.fromkeys(wanted, 1)
    assert sum(w.progress.threads for w in workers) == 8
    assert behind(engine) == set()


def test_worker_survives_a_failing_store(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker's own thread outlives a store that cannot be reached for a while."""
    talk(engine, "unlucky")
    worker = Worker(engine)
    real: Callable[..., int] = worker.run
    failed, done = threading.Event(), threading.Event()

    def run() -> int:
        if not failed.is_set():
            failed.set()
            raise StoreError("the store is busy")
        found = real()
        done.set()
        return found

    monkeypatch.setattr(worker, "run", run)
    monkeypatch.setattr(background, "_IDLE", 0.01)
    worker.start()
    assert done.wait(30)
    worker.stop()
    assert worker.progress.last_error == "StoreError: the store is busy"
    assert behind(engine) == set()
