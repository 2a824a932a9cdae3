"""The window and the delay: marks folded event by event, against a model that looks at the whole list every time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.config import load
from backscroll.derive.window import TurnMarks, Window, window_of
from backscroll.record.derived import TurnMark
from backscroll.vocab.ids import Ref

THREAD = "a" * 32
windows = st.integers(1, 5).flatmap(
    lambda size: st.builds(
        Window,
        size=st.just(size),
        delay=st.integers(0, size - 1),
        settled_edits=st.sampled_from(("ignore", "reconcile")),
        settled_deletes=st.sampled_from(("retract", "ignore")),
    )
)
steps = st.one_of(
    st.tuples(st.just("say"), st.just(0), st.just(0)),
    st.tuples(st.just("say"), st.just(0), st.just(0)),  # mostly people go on
    st.tuples(st.just("put"), st.integers(0, 40), st.just(0)),
    st.tuples(st.just("drop"), st.integers(0, 40), st.just(0)),
    st.tuples(st.just("back"), st.integers(0, 40), st.just(0)),
    st.tuples(st.just("move"), st.integers(0, 40), st.integers(0, 40)),
    st.tuples(st.just("flush"), st.just(0), st.just(0)),
)


@dataclass
class Naive:
    """Turns as a plain list; after every event each of them is looked at."""

    window: Window
    order: list[tuple[bytes, Ref]] = field(default_factory=list[tuple[bytes, Ref]])
    turns: dict[Ref, dict[str, Any]] = field(default_factory=dict[Ref, dict[str, Any]])

    def look(self, seq: int, *, flushed: bool = False) -> None:
        here = {opening for _, opening in self.order}
        for opening in [o for o in self.turns if o not in here]:
            if self.turns[opening]["due"] or self.turns[opening]["pinned"]:
                self.turns[opening]["gone"] = True
            else:
                del self.turns[opening]
        self.order.sort()
        for at, (position, opening) in enumerate(self.order):
            new = {"due": 0, "pinned": 0, "ends": b"", "position": position}
            turn = self.turns.setdefault(opening, new)
            after = len(self.order) - 1 - at
            turn["gone"] = False
            if turn["position"] != position or after <= self.window.size:
                turn |= {"pinned": 0, "ends": b"", "position": position}
            if not turn["due"] and (after > self.window.delay or flushed):
                turn["due"] = seq
            if after > self.window.size and not turn["pinned"]:
                turn |= {"pinned": seq, "ends": self.order[at + 1][0]}


class Thread:
    """The same events for the model and for the marks."""

    def __init__(self, window: Window) -> None:
        self.window = window
        self.naive = Naive(window)
        self.marks = TurnMarks(window, THREAD)
        self.seq = 0
        self.places: dict[Ref, bytes] = {}  # of everything that ever was

    def _fresh(self, at: int) -> bytes:
        """A free position before the one at this index of the list; after all if there is none."""
        taken = {position for position, _ in self.naive.order} | set(self.places.values())
        if at >= len(self.naive.order):
            return (self.seq * 1000 + 10_000_000).to_bytes(5)
        below = int.from_bytes(self.naive.order[at][0]) - 1
        while below.to_bytes(5) in taken:
            below -= 1
        return below.to_bytes(5)

    def play(self, what: str, first: int, second: int) -> None:
        self.seq += 1
        live = self.naive.order
        flushed = what == "flush"
        if what == "say":
            self._add(Ref(THREAD, self.seq), self._fresh(len(live)))
        elif what == "put":
            self._add(Ref(THREAD, self.seq), self._fresh(first % (len(live) + 1)))
        elif what == "drop" and live:
            position, opening = live[first % len(live)]
            live.remove((position, opening))
            self.marks.remove(opening)
        elif what == "back":
            gone = sorted(o for o in self.places if o not in {opening for _, opening in live})
            if gone:
                self._add(gone[first % len(gone)], self.places[gone[first % len(gone)]])
        elif what == "move" and live:
            _, opening = live[first % len(live)]
            place = self._fresh(second % (len(live) + 1))
            self.naive.order = [(p, o) for p, o in live if o != opening]
            self._add(opening, place)
        elif flushed:
            self.marks.flush(self.seq)
        self.marks.settle(self.seq)
        self.naive.look(self.seq, flushed=flushed)

    def _add(self, opening: Ref, position: bytes) -> None:
        self.places[opening] = position
        self.naive.order.append((position, opening))
        self.marks.add(opening, position)

    def agree(self) -> None:
        assert told(self.marks) == {
            o: (t["due"], t["pinned"], t["gone"], t["ends"], t["position"])
            for o, t in self.naive.turns.items()
        }
        assert len(self.marks) == len(self.naive.order)
        assert [m.opening for m in self.marks if not m.gone] == [o for _, o in self.naive.order]


def told(marks: TurnMarks) -> dict[Ref, tuple[Any, ...]]:
    return {m.opening: (m.due, m.pinned, m.gone, m.ends, m.position) for m in marks}


# -- the promise -------------------------------------------------------------------------------------------------


@given(windows, st.lists(steps, max_size=40))
def test_marks_are_what_the_whole_list_says(window: Window, moves: list[tuple[str, int, int]]) -> None:
    """After every event: since when a turn is due and settled, whether it is gone, where it ended."""
    thread = Thread(window)
    for move in moves:
        thread.play(*move)
        thread.agree()


@given(windows, st.lists(steps, max_size=30), st.integers(0, 30))
def test_marks_from_the_store_go_on_like_those_in_memory(
    window: Window, moves: list[tuple[str, int, int]], stop: int
) -> None:
    """Marks that are read back in the middle end as if read in one go, and say what changed since."""
    thread = Thread(window)
    for move in moves[:stop]:
        thread.play(*move)
    before = {m.opening: m for m in thread.marks}
    thread.marks = TurnMarks(window, THREAD, before.values())
    for move in moves[stop:]:
        thread.play(*move)
    thread.agree()
    after = {m.opening: m for m in thread.marks}
    assert {o for o in before.keys() | after.keys() if before.get(o) != after.get(o)} <= set(
        thread.marks.changed
    )


@given(windows, st.integers(0, 12), st.integers(1, 12))
def test_the_newest_marks_are_enough_for_new_turns(window: Window, early: int, late: int) -> None:
    """Turns that are added at the end need only the marks of the window: the others stay as they are."""
    thread = Thread(window)
    for _ in range(early):
        thread.play("say", 0, 0)
    newest = [m for m in thread.marks if not m.gone][-(window.size + 2) :]
    old = {m.opening: m for m in thread.marks if m not in newest}
    few = TurnMarks(window, THREAD, newest)
    for _ in range(late):
        thread.play("say", 0, 0)
        position = thread.places[Ref(THREAD, thread.seq)]
        few.add(Ref(THREAD, thread.seq), position)
        few.settle(thread.seq)
    together = {**{o: (m.due, m.pinned, m.gone, m.ends, m.position) for o, m in old.items()}, **told(few)}
    assert together == told(thread.marks)


@given(windows, st.integers(0, 20))
def test_the_window_in_numbers(window: Window, newest: int) -> None:
    """Target, first and last turn and what the window holds are those of a list of the turns so far."""
    before = list(range(newest))  # turn 0 is what precedes the first
    waiting = before[max(0, len(before) - window.delay) :]
    steady = [n for n in before if n not in waiting]
    assert window.target(newest) == (steady[-1] if steady else None)
    held = before[-window.size :]
    first, last = window.span(newest)
    assert list(range(first, last + 1)) == (held or [0])
    assert [n for n in range(newest + 1) if window.holds(n, newest)] == [*held, newest]


# -- what it means -----------------------------------------------------------------------------------------------


def said(window: Window, turns: int) -> Thread:
    thread = Thread(window)
    for _ in range(turns):
        thread.play("say", 0, 0)
    return thread


def test_window_of_three_with_delay_one() -> None:
    """Six turns: the sixth makes the fourth due, and the second has left the window."""
    thread = said(Window(3, 1), 6)
    assert [m.due for m in thread.marks] == [3, 4, 5, 6, 0, 0]
    assert [m.pinned for m in thread.marks] == [5, 6, 0, 0, 0, 0]
    assert thread.window.span(6) == (3, 5)
    assert thread.window.target(6) == 4


def test_settled_turn_reopens_when_back_in_the_window() -> None:
    """Where later turns are deleted, an old one is among the last again, and its changes count."""
    thread = said(Window(2, 0), 5)
    assert [bool(m.pinned) for m in thread.marks] == [True, True, False, False, False]
    thread.play("drop", 4, 0)
    thread.play("drop", 3, 0)
    assert [bool(m.pinned) for m in thread.marks if not m.gone] == [False, False, False]


def test_deleted_waiting_turn_leaves_no_mark() -> None:
    """An analysed turn keeps its mark for a possible restore."""
    thread = said(Window(3, 1), 4)
    thread.play("drop", 3, 0)
    assert len(list(thread.marks)) == 3
    thread.play("drop", 0, 0)
    assert [m.gone for m in thread.marks] == [True, False, False]


def test_position_belongs_to_a_turn() -> None:
    """A position at the very beginning of a turn also touches the turn before."""
    thread = said(Window(2, 0), 4)
    at = [position for position, _ in thread.naive.order]
    inside = at[1] + b"\x01"
    assert [m.position for m in thread.marks.around(inside)] == [at[1]]
    assert [m.position for m in thread.marks.around(at[2])] == [at[1], at[2]]
    assert thread.marks.around(b"") == []
    assert thread.marks.after(thread.naive.order[3][1]) is None
    assert thread.marks.after(thread.naive.order[0][1]) == at[1]
    assert thread.marks.rank(thread.naive.order[0][1]) == 3
    assert thread.marks.rank(Ref(THREAD, 99)) is None
    assert [m.position for m in thread.marks.pinned_over(at[0] + b"\x01")] == [at[0]]
    assert thread.marks.pinned_over(inside) == []


def test_unchanged_content_is_not_a_change() -> None:
    """The same version, key and sources again change nothing."""
    mark = TurnMark(THREAD, Window().rule, Ref(THREAD, 2), b"a", due=4)
    marks = TurnMarks(Window(), THREAD, [mark])
    marks.content(mark.opening, "v1", b"k", (Ref(THREAD, 2),))
    assert list(marks.changed) == [mark.opening]
    marks.changed.clear()
    marks.content(mark.opening, "v1", b"k", (Ref(THREAD, 2),))
    assert list(marks.changed) == []


def test_window_from_settings_names_its_rule() -> None:
    """Every setting of window and delay is in the name under which marks are kept, so other settings have other marks."""
    how = {
        "sliding_window": {"size": 5, "processing_delay": 2},
        "conflict_resolution": {"settled_edits": "reconcile", "settled_deletes": "ignore"},
    }
    window = window_of(load(how))
    assert window == Window(5, 2, "reconcile", "ignore")
    assert not window.freezes
    others = [Window(4, 2, "reconcile", "ignore"), Window(5, 1, "reconcile", "ignore")]
    others += [Window(5, 2, "ignore", "ignore"), Window(5, 2, "reconcile", "retract")]
    assert len({w.rule for w in [window, *others]}) == 5


@pytest.mark.parametrize("newest", [0, 1])
def test_first_turns_have_no_target(newest: int) -> None:
    """Nothing is analysed before there is something steady."""
    assert Window().target(newest) is None
