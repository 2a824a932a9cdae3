"""Tiers of tasks, and similar titles."""

from __future__ import annotations

import pytest

from backscroll.tasks.lifecycle.tiers import Tier, alike, same_title, tiers
from backscroll.vocab.ids import Ref
from backscroll.vocab.task import Task, TaskState

THREAD = "c" * 32


def task(number: int, *, current: bool = False, begun: bool = True) -> Task:
    spans = ((bytes([number]), None if current else bytes([number + 1])),) if begun else ()
    ref = Ref(THREAD, number)
    return Task(
        str(number), ref, "", TaskState.IN_PROGRESS, THREAD, None, None, "", spans=spans, current=current
    )


def test_current_task_is_short_tier_last_three_middle_and_rest_long() -> None:
    """A task that was never started is in no tier."""
    found = tiers([task(n) for n in range(1, 6)] + [task(6, current=True), task(7, begun=False)])
    assert found["6"] is Tier.SHORT
    assert [found[str(n)] for n in range(5, 0, -1)] == [
        Tier.MIDDLE,
        Tier.MIDDLE,
        Tier.MIDDLE,
        Tier.LONG,
        Tier.LONG,
    ]
    assert "7" not in found


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Fix the login", "fix  the LOGIN!", True),
        ("修复登录", "修复登录。", True),
        ("Fix the login", "Fix the logout", False),
        ("", "", False),
        ("?!", "…", False),
    ],
)
def test_equal_titles_are_recognised(one: str, other: str, same: bool) -> None:
    """Case, spacing and punctuation do not matter; titles without a word never match."""
    assert same_title(one, other) is same


@pytest.mark.parametrize(
    ("one", "other", "close"),
    [
        ("paint the old shed red", "paint the shed red", True),
        ("Add pagination to the users API", "add user pagination to the API", True),
        ("修复用户登录问题", "修复用户登录的问题", True),
        ("paint the shed", "write the invoice", False),
        ("login", "logout", False),
        ("", "paint", False),
    ],
)
def test_similar_titles_are_recognised(one: str, other: str, close: bool) -> None:
    """They share most of the significant words."""
    assert alike(one, other) is close
    assert alike(other, one) is close
