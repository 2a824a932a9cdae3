"""Alignment of sequences: correct against a slow reference, sensible with repeated items."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.reconcile import alignment as align
from backscroll.reconcile.alignment import Pair, common, common_length, heaviest_rising, longest_rising

FEW = st.lists(st.integers(0, 3), max_size=14)
SOME = st.lists(st.integers(0, 30), max_size=14)


def slow_length(a: Sequence[int], b: Sequence[int]) -> int:
    """The length of a longest common subsequence, by the table."""
    row = [0] * (len(b) + 1)
    for x in a:
        before = row[:]
        for j, y in enumerate(b):
            row[j + 1] = before[j] + 1 if x == y else max(row[j], before[j + 1])
    return row[-1]


def rises(pairs: Sequence[Pair]) -> bool:
    """True where both sides go up."""
    return all(p[0] < q[0] and p[1] < q[1] for p, q in itertools.pairwise(pairs))


@given(FEW | SOME, FEW | SOME)
def test_pairs_are_equal_rising_and_as_many_as_can_be(a: list[int], b: list[int]) -> None:
    """What is aligned is equal and in order, and no alignment has more."""
    pairs = common(a, b)
    assert all(a[i] == b[j] for i, j in pairs)
    assert rises(pairs)
    assert len(pairs) == slow_length(a, b) == common_length(a, b)


@given(FEW | SOME, FEW | SOME, st.sampled_from([(), (2,), (2, 3)]))
def test_long_stretches_are_cut_without_losing_the_order(
    a: list[int], b: list[int], windows: tuple[int, ...]
) -> None:
    """The ways for stretches too long for the exact solution give equal pairs in order too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(align, "EXACT_BITS", 4)
        patch.setattr(align, "WINDOWS", windows)
        pairs = common(a, b)
    assert all(a[i] == b[j] for i, j in pairs)
    assert rises(pairs)


@given(FEW, FEW.filter(lambda items: len(items) > 1))
def test_halving_keeps_the_best_solution(a: list[int], b: list[int]) -> None:
    """What the two halves have in common is together as much as the whole has."""
    i, j = align._halves(a, b)
    assert 0 < j < len(b)
    assert slow_length(a[:i], b[:j]) + slow_length(a[i:], b[j:]) == slow_length(a, b)


@given(st.lists(st.integers(0, 2), max_size=20), st.integers(0, 20))
def test_a_trimmed_list_is_matched_at_its_end(items: list[int], drop: int) -> None:
    """Whatever repeats, a list without its beginning is the end of the whole."""
    rest = items[drop:]
    shift = len(items) - len(rest)
    assert common(items, rest) == [(k + shift, k) for k in range(len(rest))]


@given(st.lists(st.integers(0, 2), max_size=20), st.lists(st.integers(0, 2), max_size=5))
def test_a_longer_list_is_matched_at_its_beginning(items: list[int], more: list[int]) -> None:
    """Whatever repeats, what was appended is at the end."""
    assert common(items, items + more) == [(k, k) for k in range(len(items))]


def test_missing_item_costs_one_match() -> None:
    """In a long list of three words, removing single items loses exactly those."""
    items = [(k * k + k // 7) % 3 for k in range(3000)]
    less = [x for k, x in enumerate(items) if k % 500 != 250]
    assert len(common(items, less)) == len(less)


def test_long_lists_of_different_items_need_no_table() -> None:
    """A hundred thousand items with scattered changes are aligned to the last one."""
    items = list(range(100_000))
    changed = [x if x % 997 else -x - 1 for x in items if x % 1009]
    pairs = common(items, changed)
    assert len(pairs) == sum(1 for x in changed if x >= 0)
    assert rises(pairs)


def test_long_lists_of_two_words_are_solved_exactly() -> None:
    """Twenty thousand alternating `ok` and `go`, some removed, keep all that can be kept."""
    items = [k % 2 for k in range(20_000)]
    less = [x for k, x in enumerate(items) if k % 4001 != 4000]
    assert len(common(items, less)) == len(less)


@given(st.lists(st.integers(0, 12), max_size=9, unique=True))
def test_longest_rising_is_longest(seconds: list[int]) -> None:
    """No subset of the pairs that rises has more of them."""
    pairs = list(enumerate(seconds))
    found = longest_rising(pairs)
    assert rises(found)
    best = max(
        len(some) for n in range(len(pairs) + 1) for some in itertools.combinations(pairs, n) if rises(some)
    )
    assert len(found) == best


@given(
    st.dictionaries(st.tuples(st.integers(0, 4), st.integers(0, 4)), st.integers(1, 9).map(float), max_size=9)
)
def test_heaviest_rising_is_heaviest(weights: dict[Pair, float]) -> None:
    """No subset of the pairs that rises weighs more."""
    found = heaviest_rising(weights)
    assert rises(found)
    subsets = (some for n in range(len(weights) + 1) for some in itertools.combinations(sorted(weights), n))
    best = max(sum(weights[p] for p in some) for some in subsets if rises(some))
    assert sum(weights[p] for p in found) == pytest.approx(best)
