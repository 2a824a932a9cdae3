"""Which acts are in effect under undo, redo and lifting, compared with plain stacks of strokes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from hypothesis import given
from hypothesis import strategies as st

from backscroll.record.acts import acts_in_force
from backscroll.vocab.event import Event, Kind
from backscroll.vocab.ids import Ref
from backscroll.vocab.part import Json

THREAD = "a" * 32
ACTS = (Kind.OVERRIDDEN, Kind.WORLD_TOLD, Kind.TASKED, Kind.REMEMBERED)
NOISE = (Kind.APPENDED, Kind.EDITED, Kind.FLUSHED, Kind.DELETED)
ACTORS = ("user:ann", "user:bob")


@dataclass
class Stroke:
    """Some events that one person did at once, and whether they hold."""

    events: list[Event]
    holds: bool = True


@dataclass
class Desk:
    """A log, and beside it what every actor did and took back."""

    log: list[Event] = field(default_factory=list[Event])
    done: dict[str, list[Stroke]] = field(default_factory=lambda: {a: [] for a in ACTORS})
    undone: dict[str, list[tuple[int, Stroke]]] = field(default_factory=lambda: {a: [] for a in ACTORS})
    strokes: list[Stroke] = field(default_factory=list[Stroke])

    def _write(self, actor: str, kind: Kind, **head: Json) -> Event:
        seq = len(self.log) + 1
        body = b"{}" if kind in ACTS else None
        self.log.append(
            Event(THREAD, seq, kind, actor, "now", None, head, body, commit=b"x" if body else b"")
        )
        return self.log[-1]

    def act(self, actor: str, *kinds: Kind) -> None:
        group = {"group": len(self.log) + 1} if len(kinds) > 1 else {}
        self._did(actor, [self._write(actor, kind, **group) for kind in kinds])

    def _did(self, actor: str, events: list[Event]) -> None:
        stroke = Stroke(events)
        self.strokes.append(stroke)
        self.done[actor].append(stroke)
        self.undone[actor].clear()

    def lift(self, actor: str, which: int) -> None:
        """Lift an act that may hold or not: two people may do so at the same time."""
        acts = [e for e in self.log if e.kind in ACTS]
        if acts:
            self._did(actor, [self._write(actor, Kind.LIFTED, of=[acts[which % len(acts)].seq])])

    def undo(self, actor: str) -> None:
        if self.done[actor]:
            stroke = self.done[actor].pop()
            stroke.holds = False
            written = self._write(actor, Kind.UNDONE, of=[e.seq for e in stroke.events])
            self.undone[actor].append((written.seq, stroke))

    def redo(self, actor: str) -> None:
        if self.undone[actor]:
            undone, stroke = self.undone[actor].pop()
            self._write(actor, Kind.REDONE, of=[undone])
            stroke.holds = True
            self.done[actor].append(stroke)

    def noise(self, kind: Kind) -> None:
        self._write(ACTORS[0], kind)

    def holding(self, *kinds: Kind) -> list[int]:
        """What holds, said plainly: done, and lifted by nothing that is done."""
        live = [e for stroke in self.strokes if stroke.holds for e in stroke.events]
        lifted = {n for e in live if e.kind is Kind.LIFTED for n in e.head["of"]}
        return sorted(e.seq for e in live if e.kind in kinds and e.seq not in lifted)


actors = st.sampled_from(ACTORS)
steps = st.one_of(
    st.tuples(st.just("act"), actors, st.lists(st.sampled_from(ACTS), min_size=1, max_size=3)),
    st.tuples(st.just("lift"), actors, st.integers(0, 30)),
    st.tuples(st.just("undo"), actors, st.none()),
    st.tuples(st.just("redo"), actors, st.none()),
    st.tuples(st.just("noise"), actors, st.sampled_from(NOISE)),
)


def played(moves: list[tuple[str, str, object]]) -> Desk:
    desk = Desk()
    for what, actor, more in moves:
        if what == "act":
            desk.act(actor, *more)  # type: ignore[misc]
        elif what == "lift":
            desk.lift(actor, more)  # type: ignore[arg-type]
        elif what == "noise":
            desk.noise(more)  # type: ignore[arg-type]
        else:
            getattr(desk, what)(actor)
    return desk


@given(st.lists(steps, max_size=40))
def test_what_holds_is_what_was_done_and_not_taken_back(moves: list[tuple[str, str, object]]) -> None:
    """After any mixture of acts, liftings, undos and redos of two people, all kinds together and each alone."""
    desk = played(moves)
    assert [e.seq for e in acts_in_force(desk.log, ACTS)] == desk.holding(*ACTS)
    for kind in ACTS:
        assert [e.seq for e in acts_in_force(desk.log, {kind})] == desk.holding(kind)


@given(st.lists(steps, max_size=40))
def test_events_of_other_kinds_make_no_difference(moves: list[tuple[str, str, object]]) -> None:
    """Reading only the rare events of a log gives the same as reading all of it."""
    log = played(moves).log
    rare = [e for e in log if e.kind not in NOISE]
    assert acts_in_force(log, ACTS) == acts_in_force(rare, ACTS)


@given(st.lists(steps, max_size=30), st.integers(0, 30))
def test_the_answer_grows_with_the_log(moves: list[tuple[str, str, object]], upto: int) -> None:
    """What held at an earlier moment is what the log up to there says: later events change nothing about it."""
    whole, part = played(moves), played(moves[:upto])
    assert acts_in_force(whole.log[: len(part.log)], ACTS) == acts_in_force(part.log, ACTS)


def test_forgotten_act_is_left_out() -> None:
    """The others stay."""
    desk = Desk()
    desk.act(ACTORS[0], Kind.OVERRIDDEN)
    desk.act(ACTORS[0], Kind.OVERRIDDEN)
    gone = [replace(desk.log[0], body=None), desk.log[1]]
    assert [e.seq for e in acts_in_force(gone, {Kind.OVERRIDDEN})] == [2]


def test_undo_of_an_unknown_event_is_ignored() -> None:
    """A log that starts in the middle (a fork reads part of it) names events that it does not contain."""
    event = Event(THREAD, 9, Kind.UNDONE, ACTORS[0], "now", None, {"of": [3]})
    act = Event(THREAD, 10, Kind.OVERRIDDEN, ACTORS[0], "now", Ref(THREAD, 1), {}, b"{}")
    assert acts_in_force([event, act], {Kind.OVERRIDDEN}) == [act]
