"""Which operation an undo or redo affects, compared with two plain stacks."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.record.undo import to_redo, to_undo
from backscroll.vocab.event import DELIBERATE, Event, Kind
from backscroll.vocab.ids import Ref
from backscroll.vocab.part import Json

THREAD = "a" * 32


@dataclass
class Desk:
    """One actor's operations: the log on one side, what is done and what is undone on the other."""

    log: list[Event] = field(default_factory=list[Event])
    seq: int = 1
    done: list[list[Event]] = field(default_factory=list[list[Event]])
    undone: list[tuple[Event, list[Event]]] = field(default_factory=list[tuple[Event, list[Event]]])

    def _write(self, kind: Kind, **head: Json) -> Event:
        self.seq += 1
        self.log.append(Event(THREAD, self.seq, kind, "user:ann", "now", Ref(THREAD, 1), head))
        return self.log[-1]

    def do(self, first: Kind, *others: Kind, marked: bool = True) -> None:
        """One stroke; the first of several operations may carry their number, the others do."""
        group = {"group": self.seq + 1} if others else {}
        start = self._write(first, **(group if marked else {}))
        self.done.append([start, *(self._write(kind, **group) for kind in others)])
        self.undone.clear()

    def others_write(self, events: int) -> None:
        """Another actor does something, which only advances the numbers."""
        self.seq += events

    def undo(self) -> None:
        if self.done:
            stroke = self.done.pop()
            self.undone.append((self._write(Kind.UNDONE, of=[e.seq for e in stroke]), stroke))

    def undo_of_others(self) -> None:
        """Another actor's operation is undone, which only redo concerns."""
        self.seq += 1
        self.undone.append((self._write(Kind.UNDONE, of=[self.seq]), []))

    def redo(self) -> None:
        if self.undone:
            undone, stroke = self.undone.pop()
            self._write(Kind.REDONE, of=[undone.seq])
            if stroke:
                self.done.append(stroke)

    def check(self) -> None:
        newest_first = self.log[::-1]
        assert to_undo(newest_first) == (self.done[-1][::-1] if self.done else [])
        assert to_redo(newest_first) == (self.undone[-1][0] if self.undone else None)


kinds = st.sampled_from(sorted(DELIBERATE))
strokes = st.tuples(st.just("do"), st.lists(kinds, min_size=1, max_size=3), st.booleans())
acts = strokes | st.sampled_from(["undo", "undo", "redo", "undo_of_others"]) | st.integers(1, 4)


@given(st.lists(acts, max_size=40))
def test_any_sequence_does_what_two_stacks_do(plan: list[tuple[str, list[Kind], bool] | str | int]) -> None:
    """After any operations in strokes, undos and redos, the next undo and redo are those on top of the stacks."""
    desk = Desk()
    for act in plan:
        if isinstance(act, int):
            desk.others_write(act)
        elif isinstance(act, tuple):
            desk.do(*act[1], marked=act[2])
        elif act == "undo_of_others":
            desk.undo_of_others()
        elif act == "undo":
            desk.undo()
        else:
            desk.redo()
        desk.check()


def test_empty_log_has_nothing_to_undo() -> None:
    """And nothing to redo."""
    assert to_undo([]) == []
    assert to_redo([]) is None


def test_stroke_is_undone_as_one() -> None:
    """Its operations come together, newest first, and the stroke before it comes next."""
    desk = Desk()
    desk.do(Kind.HIDDEN)
    desk.do(Kind.DELETED, Kind.DELETED, Kind.MOVED)
    assert [e.kind for e in to_undo(desk.log[::-1])] == [Kind.MOVED, Kind.DELETED, Kind.DELETED]
    desk.undo()
    assert [e.kind for e in to_undo(desk.log[::-1])] == [Kind.HIDDEN]


def test_everything_can_be_undone_and_redone_in_order() -> None:
    """Back to the very beginning and forward to the very end, as often as wanted."""
    desk = Desk()
    for kind in (Kind.RENAMED, Kind.EDITED, Kind.PINNED):
        desk.do(kind)
    for _ in range(2):
        for _ in range(4):
            desk.undo()
            desk.check()
        assert to_undo(desk.log[::-1]) == []
        for _ in range(4):
            desk.redo()
            desk.check()
        assert to_redo(desk.log[::-1]) is None


def test_new_operation_clears_redo() -> None:
    """What was undone before it stays undone, and the new one is the next to be undone."""
    desk = Desk()
    desk.do(Kind.EDITED)
    desk.undo()
    desk.do(Kind.PINNED)
    assert to_redo(desk.log[::-1]) is None
    assert [e.kind for e in to_undo(desk.log[::-1])] == [Kind.PINNED]
    desk.undo()
    assert to_undo(desk.log[::-1]) == []


@pytest.mark.parametrize("kind", sorted(set(Kind) - DELIBERATE - {Kind.UNDONE, Kind.REDONE}))
def test_appends_and_records_are_not_undone(kind: Kind) -> None:
    """They are skipped and do not clear redo."""
    desk = Desk()
    desk.do(Kind.EDITED)
    desk.undo()
    other = Event(THREAD, desk.seq + 1, kind, "user:ann", "now")
    assert to_redo([other, *desk.log[::-1]]) == desk.log[-1]
    desk.redo()
    assert to_undo([other, *desk.log[::-1]]) == desk.log[:1]


def test_undo_reads_no_more_than_needed() -> None:
    """The search ends with the stroke it looks for; the log before it is not read."""
    desk = Desk()
    for _ in range(50):
        desk.do(Kind.PINNED)
    newest_first = iter(desk.log[::-1])
    assert to_undo(newest_first) == desk.log[-1:]
    assert len(list(newest_first)) == 48
