"""From lessons to weights: bounded, fading, the same for the same lessons."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.derive.essence.learning import factor, features_of, weights
from backscroll.derive.essence.tuning import HIGHEST, LOWEST
from backscroll.record.derived import Lesson
from tests.derive.planted import Talk

AT = "2026-11-01T09:00:00+00:00"


def lessons(*pairs: tuple[str, float]) -> list[Lesson]:
    return [Lesson(AT, "t", feature, amount) for feature, amount in pairs]


def test_features_of_a_message() -> None:
    talk = Talk()
    talk.say("user", "Why does src/app.py fail with code 3?")
    talk.use("Read", {"file_path": "a.py"}, "def main():\n    pass", error=True)
    user, call, result = (set(features_of(m)) for m in talk.messages)
    assert {"role:user", "content:question", "content:error", "content:path", "content:number"} <= user
    assert {"role:assistant", "tool:read"} <= call
    assert {"role:tool", "tool:read", "content:error"} <= result


def test_lessons_raise_and_lower_weights() -> None:
    learned = weights(lessons(("tool:read", 1.0), ("tool:list", -1.0)))
    assert learned["tool:read"] > 1 > learned["tool:list"]
    assert weights([]) == {}


def test_newer_lessons_count_more() -> None:
    """Lessons come newest first; one that is a thousand lessons old has faded."""
    noise = lessons(*[("role:user", 0.0)] * 1000)
    fresh = weights([*lessons(("tool:read", 1.0)), *noise])["tool:read"]
    old = weights([*noise, *lessons(("tool:read", 1.0))])["tool:read"]
    assert fresh > old > 1


@given(st.lists(st.tuples(st.sampled_from(["a", "b", "c"]), st.floats(-1e6, 1e6)), max_size=60))
def test_weights_stay_within_their_bounds(pairs: list[tuple[str, float]]) -> None:
    learned = weights(lessons(*pairs))
    assert all(LOWEST <= w <= HIGHEST for w in learned.values())
    assert LOWEST <= factor(["a", "b", "unknown"], learned) <= HIGHEST
    assert learned == weights(lessons(*pairs))


def test_factor_is_the_mean_of_known_weights() -> None:
    assert factor(["a", "b", "x"], {"a": 2.0, "b": 1.0}) == pytest.approx(1.5)
    assert factor(["x"], {"a": 2.0}) == 1.0
