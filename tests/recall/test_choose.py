"""Value per token, and near duplicates."""

from __future__ import annotations

import numpy as np

from backscroll.recall.selection import in_order, same


def test_shorter_of_two_equally_likely_texts_is_first() -> None:
    """The same odds for fewer tokens."""
    assert in_order(np.asarray([0.0, 0.0]), np.asarray([400.0, 20.0])) == [1, 0]


def test_much_more_likely_text_stays_first() -> None:
    """Length alone does not decide."""
    assert in_order(np.asarray([4.0, -2.0]), np.asarray([400.0, 20.0])) == [0, 1]


def test_equal_values_are_ordered_by_time() -> None:
    """The same input, the same order."""
    assert in_order(np.zeros(4), np.ones(4)) == [0, 1, 2, 3]


def test_near_duplicates_are_recognised() -> None:
    """Nearly the same terms are a duplicate; half of them are not; no terms never are."""
    ten = [f"t{n}" for n in range(10)]
    assert same(ten, [*ten, "x"])
    assert not same(ten, ten[:5])
    assert not same([], [])
