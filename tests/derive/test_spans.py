"""Spans are cut by ids alone: inserting or deleting a turn moves no other cut."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from backscroll.derive.summaries.spans import BITS, cut, rank, zeros
from backscroll.vocab.ids import Ref

A, B = "a" * 32, "b" * 32


def runs(numbers: list[int], level: int = 1) -> list[list[int]]:
    return list(cut(numbers, lambda n: rank("user", Ref(A, n)) >= level))


def test_one_in_eight_turns_opens_a_level() -> None:
    """One in eight turns opens level 1, one in sixty-four level 2; one in sixteen replies opens a piece."""
    ranks = Counter(rank("user", Ref(A, n)) for n in range(1, 8001))
    assert 850 < sum(c for r, c in ranks.items() if r >= 1) < 1150
    assert 90 < sum(c for r, c in ranks.items() if r >= 2) < 165
    assert 400 < sum(1 for n in range(1, 8001) if rank("assistant", Ref(A, n)) >= 0) < 600


def test_user_messages_open_pieces_and_results_never_do() -> None:
    assert all(rank("user", Ref(A, n)) >= 0 for n in range(1, 200))
    assert all(rank(role, Ref(A, n)) == -1 for role in ("tool", "system") for n in range(1, 200))


@given(st.sets(st.integers(1, 300), min_size=2), st.data())
def test_taking_one_out_changes_one_or_two_runs(numbers: set[int], data: st.DataObject) -> None:
    """All runs that do not touch the place stay what they are."""
    gone = data.draw(st.sampled_from(sorted(numbers)))
    before, after = runs(sorted(numbers)), runs(sorted(numbers - {gone}))
    changed = [r for r in before if r not in after]
    assert len(changed) <= 3  # its own, the one it is joined to, and the first one of all
    assert [n for run in after for n in run] == sorted(numbers - {gone})


def test_rank_depends_on_the_thread() -> None:
    assert [zeros(Ref(A, n)) for n in range(1, 60)] != [zeros(Ref(B, n)) for n in range(1, 60)]
    assert BITS == 3
