"""Pacing: slices wait for callers, rest follows work, and neither takes for ever."""

from __future__ import annotations

import threading

import pytest

import backscroll
from backscroll.engine.background.worker import Worker, bring_up_to_date
from backscroll.engine.core import pacing
from backscroll.engine.core.pacing import ALONE, ATTENDED, SLICE, Callers, Pace


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr(pacing.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(pacing.time, "perf_counter", lambda: self.now)


def test_rest_is_proportional_to_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Longer while there are callers, shorter without, never more than a second."""
    clock, callers, rests = Clock(monkeypatch), Callers(), list[float]()
    pace = Pace(callers, rests.append)
    for took in (0.02, 0.04, 10.0):
        pace.begin()
        clock.now += took
        pace.end()
    callers.came()
    for took in (0.02, 0.04, 10.0):
        pace.begin()
        clock.now += took
        callers.came()
        pace.end()
    assert rests == pytest.approx(
        [0.02 * ALONE, 0.04 * ALONE, 1.0, 0.02 * ATTENDED, 0.04 * ATTENDED, 1.0], abs=1e-6
    )


def test_no_slice_starts_during_a_call() -> None:
    """It starts after the last caller leaves; a caller that never leaves cannot block it forever."""
    callers, begun = Callers(), threading.Event()
    with callers.inside():
        assert callers.lately
        assert not callers.make_way(0.01)
        waiting = threading.Thread(target=lambda: (callers.make_way(30), begun.set()))
        waiting.start()
        with callers.inside():
            assert not begun.is_set()
        assert not begun.is_set()
    waiting.join(30)
    assert begun.is_set()
    assert callers.make_way(0)


def test_failed_call_is_no_longer_counted(tmp_path: object) -> None:
    """An error inside does not count as a caller for ever."""
    with backscroll.open(f"{tmp_path}/s.db", background=False) as store:
        thread = store.create("t")
        thread.append("user", "hello")
        with pytest.raises(backscroll.BackscrollError):
            thread.prompt(-5)
        assert store.callers.make_way(0)


def test_background_worker_takes_small_slices(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every step is asked for a slice at a time; one that is run takes large ones."""
    taken: list[int] = []

    def step(_engine: object, _thread: str, limit: int) -> int:
        taken.append(limit)
        return 0

    monkeypatch.setattr("backscroll.engine.background.worker.steps", lambda _engine: [step])
    with backscroll.open(f"{tmp_path}/s.db", background=False) as store:
        thread = store.create("t")
        bring_up_to_date(store, thread.id, pace=Pace(store.callers, lambda _: None))
        Worker(store).run()
    assert taken[0] == SLICE
    assert min(taken[1:]) > SLICE
