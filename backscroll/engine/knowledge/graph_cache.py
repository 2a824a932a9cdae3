"""Graphs in memory: what each was made from, and how it is updated when turns are analysed or read by a model.

Every OS thread has its own graph, so that no thread changes what another one is reading; prompts share one if a background
worker runs. Analysis is in `engine/knowledge/analysis`; `engine/knowledge/graph_holder` builds the graphs.
"""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from backscroll.derive.extract.assertions import from_body
from backscroll.derive.models.turn import ImpliedAttribute
from backscroll.engine.knowledge.model_world import implied_entries
from backscroll.engine.models.usage import ASSERTIONS, models_used
from backscroll.graph.fold import Graph
from backscroll.graph.view import Options, WorldEntry
from backscroll.record.derived import TurnMark
from backscroll.record.ports import Reader
from backscroll.vocab.assertion import Assertion, TurnClaims
from backscroll.vocab.event import Event
from backscroll.vocab.ids import Ref

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import EngineScope
    from backscroll.engine.models.extraction import ModelReading

HELD = 16  # maximum number of graphs in memory
SHARED = 0  # in place of the id of an OS thread: the graph that prompts share


@dataclass
class CachedGraph:
    """A graph in memory, and what it was made from."""

    options: Options
    rule: str
    graph: Graph = field(init=False)
    seen: int = 0  # the event up to which marks are included
    told: int = 0  # the event up to which overrides and worlds are included
    models: str = ""
    marks: dict[Ref, tuple[bytes, bytes, tuple[Ref, ...]]] = field(
        default_factory=dict[Ref, tuple[bytes, bytes, tuple[Ref, ...]]]
    )
    acts: list[Event] = field(default_factory=list[Event])
    books: list[Ref] = field(default_factory=list[Ref])  # the events whose world descriptions are included
    lock: threading.RLock = field(default_factory=threading.RLock)
    world: list[WorldEntry] = field(default_factory=list[WorldEntry])
    implied: dict[Ref, tuple[ImpliedAttribute, ...]] = field(
        default_factory=dict[Ref, tuple[ImpliedAttribute, ...]]
    )  # by turns
    _begins: dict[Ref, bytes] = field(default_factory=dict[Ref, bytes])
    _order: list[bytes] = field(default_factory=list[bytes])  # where the turns of the history start

    def __post_init__(self) -> None:
        self.graph = Graph(options=self.options)

    @property
    def since(self) -> int:
        """The event up to which everything is included. Overrides can be ahead of the marks, which wait for the analysis."""
        return min(self.seen, self.told)

    def number(self, opening: Ref) -> int:
        """Return the number of a turn; -1 if its first message is no longer in the history."""
        if opening.seq == 0:
            return 0
        place = self._begins.get(opening)
        return -1 if place is None else bisect_right(self._order, place)

    def imply(self, turns: Mapping[Ref, tuple[ImpliedAttribute, ...]]) -> None:
        """Set what models inferred from the world description in some turns; empty: nothing, or no longer anything."""
        news = {o: found for o, found in turns.items() if self.implied.get(o, ()) != found}
        if not news:
            return
        self.implied = {o: found for o, found in (self.implied | news).items() if found}
        self.tell_world(self.world)

    def tell_world(self, world: list[WorldEntry]) -> None:
        """Set the world description, followed by what models inferred from text that is still in it."""
        self.world = world
        self.graph.set_world([*world, *implied_entries(self.implied, world)])

    def place(self, marks: Mapping[Ref, TurnMark | None], *, everything: bool = False) -> None:
        """Record where turns begin, or that they are gone; `everything`: there are no others."""
        stands = {o: m.position for o, m in marks.items() if m is not None and not m.gone and o.seq}
        if everything:
            self._begins, self._order = stands, sorted(stands.values())
            return
        for opening in marks:
            if (old := self._begins.pop(opening, None)) is not None:
                del self._order[bisect_left(self._order, old)]
        for opening, position in stands.items():
            self._begins[opening] = position
            insort(self._order, position)


def held_graph(engine: EngineScope, thread: str) -> CachedGraph | None:
    """Return this OS thread's graph of a thread; each OS thread has its own, so that none changes what another one reads."""
    return cast("CachedGraph | None", engine.memo.shelf("graphs", HELD).get((thread, threading.get_ident())))


def moved_on(
    engine: EngineScope, thread: str, rule: str, seen: int, upto: int, marks: Mapping[Ref, TurnMark | None]
) -> None:
    """Update the graph in memory after the analysis was written from event `seen` to `upto`, if it was up to date before."""
    for held in _moving(engine, thread):
        if held.seen == seen and held.rule == rule:
            engine.store.read(lambda reader, held=held: put_turns(reader, held, marks))
            held.place(marks)
            held.seen = upto


def _moving(engine: EngineScope, thread: str) -> Iterator[CachedGraph]:
    """Yield the graphs of a thread that this OS thread may change, each while it is locked."""
    for held in (held_graph(engine, thread), shared_graph(engine, thread)):
        if held is not None:
            with held.lock:
                yield held


def shared_graph(engine: EngineScope, thread: str) -> CachedGraph | None:
    """Return the graph of a thread that prompts share; None if there is none."""
    return cast("CachedGraph | None", engine.memo.shelf("graphs", HELD).get((thread, SHARED)))


def moved_by_model(
    engine: EngineScope,
    thread: str,
    mark: TurnMark,
    claims: tuple[Assertion, ...],
    implied: tuple[ImpliedAttribute, ...] = (),
) -> None:
    """Update the graph in memory after a model read a turn, if it holds that version of the turn."""
    for held in _moving(engine, thread):
        if held.marks.get(mark.opening) == (mark.position, mark.key, mark.sources):
            held.graph.put(TurnClaims(mark.opening, mark.position, claims))
            held.imply({mark.opening: implied})


def put_turns(reader: Reader, held: CachedGraph, marks: Mapping[Ref, TurnMark | None]) -> None:
    """Add turns to the graph, or remove them."""
    keep = [mark for mark in marks.values() if mark is not None and mark.key]
    implied: dict[Ref, tuple[ImpliedAttribute, ...]] = {}
    found = claims_of(reader, keep, implied)
    gone = [o for o, m in marks.items() if (m is None or not m.key) and held.marks.pop(o, None) is not None]
    for mark in keep:
        if mark.opening in found:
            held.marks[mark.opening] = (mark.position, mark.key, mark.sources)
    held.graph.update(found.values(), gone)
    held.imply({opening: implied.get(opening, ()) for opening in (*marks, *gone)})


def claims_of(
    reader: Reader, marks: Sequence[TurnMark], implied: dict[Ref, tuple[ImpliedAttribute, ...]] | None = None
) -> dict[Ref, TurnClaims]:
    """Return what turns state, by their first messages: a model's reading if there is one; missing claims are left out.

    `implied` is filled with what models inferred from the world description.
    """
    keys = list(dict.fromkeys(mark.key for mark in marks))
    made = reader.read_artefacts(keys)
    better: Mapping[bytes, ModelReading] = {}
    if models_used(reader, ASSERTIONS):
        # start-up: only with a model
        from backscroll.engine.models.extraction import found_by_models

        better = found_by_models(reader, keys)
    out: dict[Ref, TurnClaims] = {}
    for mark in marks:
        said: tuple[Assertion, ...]
        if mark.key in better:
            claimed = better[mark.key].parse_claims(mark.sources)
            said = claimed.assertions
            if implied is not None:
                implied[mark.opening] = claimed.reading.implied
        elif mark.key in made:
            said = from_body(made[mark.key].body, mark.sources)
        else:
            continue
        out[mark.opening] = TurnClaims(mark.opening, mark.position, said)
    return out
