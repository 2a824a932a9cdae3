"""Positions: always between their neighbours, never equal, and short."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.record.order import WIDTH, at_end, between


class Line:
    """A history that consists of positions only; every change has the next number."""

    def __init__(self, messages: int) -> None:
        self.positions = [at_end(seq) for seq in range(1, messages + 1)]
        self.seq = messages

    def insert(self, place: int) -> None:
        """Put something at this place, counted from the start; the last place is the end."""
        self.seq += 1
        low = self.positions[place - 1] if place else b""
        high = self.positions[place] if place < len(self.positions) else None
        self.positions.insert(place, between(low, high, self.seq))

    def take(self, place: int) -> None:
        """Something moves away; its position is not given to anybody else."""
        del self.positions[place]

    @property
    def longest(self) -> int:
        return max(map(len, self.positions))


@given(st.lists(st.integers(1, 2**40), min_size=2, max_size=20, unique=True))
def test_what_is_appended_stands_in_the_order_of_its_events(numbers: list[int]) -> None:
    """Later events have higher positions, all of one length."""
    assert sorted(at_end(n) for n in numbers) == [at_end(n) for n in sorted(numbers)]
    assert {len(at_end(n)) for n in numbers} == {WIDTH}


@given(st.integers(1, 300), st.lists(st.tuples(st.booleans(), st.integers(0, 10**6)), max_size=80))
def test_any_chain_of_insertions_and_moves_keeps_the_order(
    messages: int, changes: list[tuple[bool, int]]
) -> None:
    """Whatever is put wherever is strictly between its neighbours, and no position is used twice."""
    line = Line(messages)
    ever = list(line.positions)
    for moves, place in changes:
        if moves and len(line.positions) > 1:
            line.take(place % len(line.positions))
        before = set(line.positions)
        line.insert(place % (len(line.positions) + 1))
        assert line.positions == sorted(line.positions)
        ever += set(line.positions) - before
    assert len(set(ever)) == len(ever) == messages + len(changes)


@given(st.integers(1, 2**32), st.integers(1, 2**16), st.data())
def test_two_events_never_choose_the_same_position(low: int, gap: int, data: st.DataObject) -> None:
    """Between the same two neighbours, the number of the event makes the difference."""
    one, other = data.draw(st.lists(st.integers(low + gap, 2**40), min_size=2, max_size=2, unique=True))
    bounds = at_end(low), at_end(low + gap)
    first, second = between(*bounds, one), between(*bounds, other)
    assert first != second
    assert all(bounds[0] < position < bounds[1] for position in (first, second))


@given(st.integers(1, 2**40), st.integers(1, 2**40))
def test_there_is_room_before_everything(first: int, seq: int) -> None:
    """Something can always be put before the first message."""
    assert b"" < between(b"", at_end(first), seq) < at_end(first)


@given(st.integers(1, 2**40))
def test_without_an_upper_neighbour_it_is_an_append(seq: int) -> None:
    """At the end of a history a position is that of an appended message."""
    assert between(at_end(seq - 1), None, seq) == at_end(seq)


@pytest.mark.parametrize(("low", "high"), [(b"\1", b"\1"), (b"\2", b"\1"), (b"\1\1", b"\1"), (b"", b"")])
def test_neighbours_in_the_wrong_order_are_refused(low: bytes, high: bytes) -> None:
    """Nothing is between a position and one that is not after it."""
    with pytest.raises(ValueError, match="out of order"):
        between(low, high, 9)


@pytest.mark.parametrize("seed", range(5))
def test_scattered_insertions_keep_positions_short(seed: int) -> None:
    """A thousand insertions all over a history cost a few bytes each."""
    random = Random(seed)
    line = Line(5)
    for _ in range(1000):
        line.insert(random.randrange(len(line.positions) + 1))
    assert line.longest <= 2 * WIDTH + 6


@pytest.mark.parametrize("place", ["the start", "after the first", "before the last", "the middle"])
def test_insertions_at_one_place_grow_positions_slowly(place: str) -> None:
    """At worst, one byte for every eight insertions."""
    line = Line(2)
    for done in range(1, 401):
        count = len(line.positions)
        where = {"the start": 0, "after the first": 1, "before the last": count - 1, "the middle": count // 2}
        line.insert(where[place])
        assert line.positions == sorted(line.positions)
        assert line.longest <= 2 * WIDTH + 2 + done // 8
