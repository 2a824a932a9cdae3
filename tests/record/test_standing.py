"""Which crops and compactions are in effect, compared with a plain replay of steps and undos."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from backscroll.record.crops import CropState, fold_standing
from backscroll.vocab.event import Event, Kind
from backscroll.vocab.part import Json

THREAD = "a" * 32


def event(seq: int, kind: Kind, **head: Json) -> Event:
    return Event(THREAD, seq, kind, "user", "now", None, head)


class Desk:
    """A person who crops, uncrops, compacts, undoes and redoes; keeps the outcome by hand."""

    def __init__(self) -> None:
        self.log: list[Event] = []
        self.crops: set[int] = set()
        self.compactions: set[int] = set()
        self.done: list[tuple[Event, frozenset[int], frozenset[int]]] = []
        self.undone: list[tuple[Event, Event, frozenset[int], frozenset[int]]] = []

    def _write(self, kind: Kind, **head: Json) -> Event:
        self.log.append(event(len(self.log) + 1, kind, **head))
        return self.log[-1]

    def _deliberate(self, kind: Kind, **head: Json) -> Event:
        before = frozenset(self.crops), frozenset(self.compactions)
        made = self._write(kind, **head)
        self.done.append((made, *before))
        self.undone.clear()
        return made

    def crop(self) -> None:
        self.crops.add(self._deliberate(Kind.CROPPED).seq)

    def uncrop(self) -> None:
        if self.crops:
            oldest = min(self.crops)
            self._deliberate(Kind.UNCROPPED, of=[oldest])
            self.crops.discard(oldest)

    def compact(self) -> None:
        self.compactions.add(self._deliberate(Kind.COMPACTED).seq)

    def rename(self) -> None:
        self._deliberate(Kind.RENAMED)

    def undo(self) -> None:
        if self.done:
            made, crops, compactions = self.done.pop()
            now = frozenset(self.crops), frozenset(self.compactions)
            undone = self._write(Kind.UNDONE, of=[made.seq])
            self.undone.append((undone, made, *now))
            self.crops, self.compactions = set(crops), set(compactions)

    def redo(self) -> None:
        if self.undone:
            undone, made, crops, compactions = self.undone.pop()
            before = frozenset(self.crops), frozenset(self.compactions)
            self._write(Kind.REDONE, of=[undone.seq])
            self.done.append((made, *before))  # a later undo names the original again
            self.crops, self.compactions = set(crops), set(compactions)


ACTS = st.lists(st.sampled_from(["crop", "uncrop", "compact", "rename", "undo", "redo"]), max_size=30)


@given(ACTS)
def test_crops_in_effect_are_those_not_undone(acts: list[str]) -> None:
    desk = Desk()
    for act in acts:
        getattr(desk, act)()
    now = fold_standing(desk.log)
    assert set(now.crops) == desk.crops
    assert set(now.compactions) == desk.compactions
    assert now.compaction == max(desk.compactions, default=None)


@given(ACTS, st.integers(0, 30))
def test_fold_can_continue_from_anywhere(acts: list[str], cut: int) -> None:
    desk = Desk()
    for act in acts:
        getattr(desk, act)()
    assert fold_standing(desk.log[cut:], fold_standing(desk.log[:cut])) == fold_standing(desk.log)


def test_empty_log_has_no_crops_in_effect() -> None:
    assert fold_standing([]) == CropState()
    assert fold_standing([event(1, Kind.EDITED)]).crops == ()
