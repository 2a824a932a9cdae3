"""Graphs in memory: each brought up to date, turn by turn, when somebody looks, and thrown away when words are forgotten.

Owns how a graph is put together from marks, claims, overrides and descriptions of the world, and which are kept at hand. Every OS
thread has its own, so that nobody changes what another one is reading. Before: `engine/analysing`, `engine/graph_acts`,
`graph/fold`. After: `engine/graphing`.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from backscroll.derive.assertions import from_body
from backscroll.derive.window import window_of
from backscroll.engine.analysing import Step, catch_up, progress_name, rebuild
from backscroll.engine.graph_acts import overrides_in, world_in
from backscroll.engine.lineage import View
from backscroll.graph.fold import Graph, let_go
from backscroll.graph.view import Options
from backscroll.record.derived import TurnMark
from backscroll.record.ports import Reader
from backscroll.vocab.assertion import Assertion, TurnClaims
from backscroll.vocab.event import Event, Kind
from backscroll.vocab.ids import Ref

if TYPE_CHECKING:
    from backscroll.engine.engine import Engine
    from backscroll.engine.thread import Thread

_HELD = 16  # graphs in memory
_TELLING = frozenset({Kind.OVERRIDDEN, Kind.WORLD_TOLD})
_ACTING = _TELLING | {Kind.LIFTED, Kind.UNDONE, Kind.REDONE}
#: In the store's meta, for each thread: how many turns a model has analysed.
EXTRACTED = "extracted:"


@dataclass
class Held:
    """A graph in memory, and what it was made from."""

    options: Options
    rule: str
    graph: Graph = field(init=False)
    seen: int = 0  # the event up to which the marks are in it
    told: int = 0  # the event up to which overrides and worlds are in it
    models: str = ""
    marks: dict[Ref, tuple[bytes, bytes, tuple[Ref, ...]]] = field(
        default_factory=dict[Ref, tuple[bytes, bytes, tuple[Ref, ...]]]
    )
    acts: list[Event] = field(default_factory=list[Event])

    def __post_init__(self) -> None:
        self.graph = Graph(options=self.options)


def held_graph(engine: Engine, thread: str) -> Held | None:
    """The graph of a thread that this OS thread holds: each has its own, so that nobody changes what another one reads."""
    return cast("Held | None", engine.memo.shelf("graphs", _HELD).get((thread, threading.get_ident())))


def moved_on(engine: Engine, step: Step) -> None:
    """A step of the analysis was written: bring the graph in memory along, where it was up to date before."""
    held = held_graph(engine, step.thread)
    if held is None or held.seen != step.seen or held.rule != step.window.rule:
        return
    marks = {o: step.marks.get(o) for o in step.marks.changed}
    engine.store.read(lambda reader: _put(reader, held, marks))
    held.seen = step.upto


def moved_by_model(engine: Engine, thread: str, mark: TurnMark, claims: tuple[Assertion, ...]) -> None:
    """A model read a turn: bring the graph in memory along, where it holds that very version."""
    held = held_graph(engine, thread)
    if held is not None and held.marks.get(mark.opening) == (mark.position, mark.key, mark.sources):
        held.graph.put(TurnClaims(mark.opening, mark.position, claims))


def _put(reader: Reader, held: Held, marks: Mapping[Ref, TurnMark | None]) -> None:
    """Put turns into the graph, or take them out."""
    keep = [mark for mark in marks.values() if mark is not None and mark.key]
    found = claims_of(reader, keep)
    gone = [o for o, m in marks.items() if (m is None or not m.key) and held.marks.pop(o, None) is not None]
    for mark in keep:
        if mark.opening in found:
            held.marks[mark.opening] = (mark.position, mark.key, mark.sources)
    held.graph.update(found.values(), gone)


def claims_of(reader: Reader, marks: Sequence[TurnMark]) -> dict[Ref, TurnClaims]:
    """What turns say, by their openings: in the words of a model where one has read them; without what is missing."""
    from backscroll.engine.extracting import found_by_models

    keys = list(dict.fromkeys(mark.key for mark in marks))
    made = reader.made(keys)
    better = found_by_models(reader, keys)
    out: dict[Ref, TurnClaims] = {}
    for mark in marks:
        said: tuple[Assertion, ...]
        if mark.key in better:
            said = better[mark.key].claims(mark.sources)
        elif mark.key in made:
            said = from_body(made[mark.key].body, mark.sources)
        else:
            continue
        out[mark.opening] = TurnClaims(mark.opening, mark.position, said)
    return out


def graph_of(thread: Thread, *, behind: int | None = None) -> Graph | None:
    """The graph as it stands now. With `behind`, None where more events than that wait to be analysed."""
    engine = thread.engine
    window = window_of(engine.settings)
    name = progress_name(window)
    if behind is not None:
        seen = engine.store.read(lambda r: r.progress(thread.id, name))
        if thread.head - seen > behind:
            return None
    catch_up(engine, thread.id)
    kept = held_graph(engine, thread.id)
    options = options_of(thread)
    fresh = kept is None or (kept.rule, kept.options) != (window.rule, options)
    held = Held(options, window.rule) if kept is None or fresh else kept
    told = held.told
    if kept is held and engine.store.read(lambda reader: _forgot(reader, thread, told)):
        let_go()
        held = Held(options, window.rule)  # whatever the other keeps to be quick goes with it
    if not _filled(thread, held, name):  # an artefact that others shared was forgotten with their words
        rebuild(engine, thread.id)
        held = Held(options, window.rule)
        _filled(thread, held, name)
    engine.memo.shelf("graphs", _HELD)[thread.id, threading.get_ident()] = held
    return held.graph


def _filled(thread: Thread, held: Held, name: str) -> bool:
    """Bring a held graph up to date; False where something that it needs is not in the store."""
    return not thread.store.read(lambda reader: _refreshed(reader, thread, held, name))


def _refreshed(reader: Reader, thread: Thread, held: Held, name: str) -> bool:
    """Bring a held graph up to date; True where something that it needs is not in the store."""
    seen = reader.progress(thread.id, name)
    models = reader.meta(f"{EXTRACTED}{thread.id}") or ""
    missing = False
    if held.seen != seen or held.models != models:
        marks = {m.opening: m for m in reader.turn_marks(thread.id, held.rule) if m.key}
        same = held.models == models
        news: dict[Ref, TurnMark | None] = {
            o: m for o, m in marks.items() if not same or held.marks.get(o) != (m.position, m.key, m.sources)
        }
        news |= {o: None for o in held.marks if o not in marks}
        _put(reader, held, news)
        missing = any(o not in held.marks for o in marks)
        held.seen, held.models = seen, models
    _tell(reader, thread, held)
    return missing


def _forgot(reader: Reader, thread: Thread, told: int) -> bool:
    """True where words were erased since this event."""
    state = reader.thread(thread.id)
    assert state is not None
    if state.head == told:
        return False
    return any(event.kind is Kind.FORGOTTEN for event in View(reader, state).others(told))


def _tell(reader: Reader, thread: Thread, held: Held) -> None:
    """Overrides and world descriptions that came since."""
    state = reader.thread(thread.id)
    assert state is not None
    if state.head == held.told:
        return
    view = View(reader, state)
    news = [e for e in view.others(held.told) if e.kind in _ACTING]
    held.told = state.head
    if not news:
        return
    held.acts += news
    held.graph.set_overrides(overrides_in(held.acts))
    held.graph.set_world(world_in(held.acts))


def options_of(thread: Thread) -> Options:
    """What the settings say about folding."""
    settings = thread.engine.settings
    return Options(
        preserve_user_edits=settings.conflict_resolution_preserve_user_edits,
        auto_infer=settings.node_creation_auto_infer_attributes,
        use_world=settings.node_creation_use_world_context,
        min_attributes=settings.node_creation_min_attributes,
        language="zh" if thread.info.language.startswith("zh") else "en",
    )
