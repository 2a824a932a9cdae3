"""Memories fade unless they are used, but never to zero."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from backscroll.tasks.memory.decay import MemoryUse, fade_memory, weight
from backscroll.tasks.memory.tuning import HALF, LEAST
from backscroll.vocab.task import Memory, MemoryKind

SAID = "2026-01-01T00:00:00+00:00"


def later(days: int) -> str:
    from datetime import datetime, timedelta

    return (datetime.fromisoformat(SAID) + timedelta(days=days)).isoformat()


def lesson(**more: object) -> Memory:
    return Memory("m", MemoryKind.LESSON, "x", "t", at=SAID, **more)  # type: ignore[arg-type]


def test_memory_weighs_about_half_after_its_half_life() -> None:
    days = int(HALF[MemoryKind.LESSON])
    assert abs(weight(MemoryKind.LESSON, SAID, later(days)) - (LEAST + (1 - LEAST) / 2)) < 0.01


def test_use_renews_a_memory_and_slows_its_fading() -> None:
    plain = fade_memory(lesson(), later(120))
    used = fade_memory(lesson(), later(120), MemoryUse(1, later(60)))
    often = fade_memory(lesson(), later(120), MemoryUse(3, later(60)))
    assert plain.weight < used.weight < often.weight
    assert often.uses == 3


def test_pinned_memory_does_not_fade() -> None:
    assert fade_memory(lesson(pinned=True), later(10_000)).weight == 1.0


@given(st.integers(0, 100_000), st.integers(0, 50), st.sampled_from(list(MemoryKind)))
def test_weight_stays_between_its_minimum_and_one(days: int, uses: int, kind: MemoryKind) -> None:
    assert LEAST <= weight(kind, SAID, later(days), uses) <= 1.0


@given(st.integers(0, 5_000), st.integers(0, 5_000))
def test_older_never_weighs_more(one: int, other: int) -> None:
    young, old = sorted((one, other))
    assert weight(MemoryKind.OUTCOME, SAID, later(young)) >= weight(MemoryKind.OUTCOME, SAID, later(old))
