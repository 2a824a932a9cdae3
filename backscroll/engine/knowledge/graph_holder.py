"""Graphs in memory: each brought up to date, turn by turn, when somebody looks, and thrown away when words are forgotten.

Owns how a graph is put together from marks, claims, overrides and descriptions of the world, and which are kept at hand. Every OS
thread has its own, so that nobody changes what another one is reading; where a background worker lives, prompts share one that
the worker keeps, under its lock, and never wait for it. Before: `engine/knowledge/analysis`, `engine/knowledge/graph_acts`, `graph/fold`. After:
`engine/knowledge/graph`, `engine/knowledge/graph_block`.
"""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right, insort
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast

from backscroll.derive.extract.assertions import from_body
from backscroll.derive.models.turn import Implied
from backscroll.derive.window import window_of
from backscroll.engine.core.lineage import View
from backscroll.engine.knowledge.analysis import Step, catch_up, progress_name, rebuild
from backscroll.engine.knowledge.graph_acts import overrides_in, world_in
from backscroll.engine.knowledge.lore.books import card_name
from backscroll.engine.models.used import ASSERTIONS, models_used
from backscroll.engine.models.world import implied_entries
from backscroll.graph.fold import Graph, let_go
from backscroll.graph.reading.view import Options, WorldEntry
from backscroll.record.acts import acts_in_force
from backscroll.record.derived import TurnMark
from backscroll.record.ports import Reader, ThreadState
from backscroll.vocab.assertion import Assertion, TurnClaims
from backscroll.vocab.event import Event, Kind
from backscroll.vocab.ids import Ref

if TYPE_CHECKING:
    from backscroll.config import Settings
    from backscroll.engine.engine import Engine
    from backscroll.engine.models.extraction import Read
    from backscroll.engine.thread import Thread

_HELD = 16  # graphs in memory
_SHARED = 0  # in the place of the number of an OS thread: the graph that prompts share
_PATIENCE = 0.05  # seconds that a prompt waits for a graph that is being changed
_SAID = 4000  # characters of a message that are looked through for names
NAMED, SEEN = 5, 10  # nodes that a prompt asks for, and that stand around them
_SMALL = (
    20  # turns whose graph is put together at once, though a worker lives: the first question may be about it
)
_COLD = 600  # turns whose graph is put together while the first prompt of a process waits
_TELLING = frozenset({Kind.OVERRIDDEN, Kind.WORLD_TOLD})
_ACTING = _TELLING | {Kind.LIFTED, Kind.UNDONE, Kind.REDONE}
#: Rare events that change neither a message nor what a person says of the world.
_QUIET = frozenset(
    {Kind.CREATED, Kind.RENAMED, Kind.TAGGED, Kind.UNTAGGED, Kind.COMPACTED, Kind.CROPPED, Kind.UNCROPPED, Kind.TASKED,
     Kind.REMEMBERED, Kind.CODE_CHANGED, Kind.NOTED}
)  # fmt: skip
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
    books: list[Ref] = field(
        default_factory=list[Ref]
    )  # the events whose descriptions of the world are in it
    lock: threading.RLock = field(default_factory=threading.RLock)
    world: list[WorldEntry] = field(default_factory=list[WorldEntry])
    implied: dict[Ref, tuple[Implied, ...]] = field(
        default_factory=dict[Ref, tuple[Implied, ...]]
    )  # by turns
    _begins: dict[Ref, bytes] = field(default_factory=dict[Ref, bytes])
    _order: list[bytes] = field(default_factory=list[bytes])  # where the turns of the history begin

    def __post_init__(self) -> None:
        self.graph = Graph(options=self.options)

    @property
    def since(self) -> int:
        """The event up to which everything is in it. Overrides can be ahead of the marks: those wait for the analysis."""
        return min(self.seen, self.told)

    def number(self, opening: Ref) -> int:
        """The number of a turn; -1 where its opening is not in the history any more."""
        if opening.seq == 0:
            return 0
        place = self._begins.get(opening)
        return -1 if place is None else bisect_right(self._order, place)

    def imply(self, turns: Mapping[Ref, tuple[Implied, ...]]) -> None:
        """What models concluded from the world in some turns; empty: nothing, or no more."""
        news = {o: found for o, found in turns.items() if self.implied.get(o, ()) != found}
        if not news:
            return
        self.implied = {o: found for o, found in (self.implied | news).items() if found}
        self.tell_world(self.world)

    def tell_world(self, world: list[WorldEntry]) -> None:
        """The description of the world, and behind it what models concluded from words that stand in it still."""
        self.world = world
        self.graph.set_world([*world, *implied_entries(self.implied, world)])

    def place(self, marks: Mapping[Ref, TurnMark | None], *, everything: bool = False) -> None:
        """Note where turns begin, or that they are gone; `everything`: there are no others."""
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


def held_graph(engine: Engine, thread: str) -> Held | None:
    """The graph of a thread that this OS thread holds: each has its own, so that nobody changes what another one reads."""
    return cast("Held | None", engine.memo.shelf("graphs", _HELD).get((thread, threading.get_ident())))


def moved_on(engine: Engine, step: Step) -> None:
    """A step of the analysis was written: bring the graph in memory along, where it was up to date before."""
    marks = {o: step.marks.get(o) for o in step.marks.changed}
    for held in _moving(engine, step.thread):
        if held.seen == step.seen and held.rule == step.window.rule:
            engine.store.read(lambda reader, held=held: _put(reader, held, marks))
            held.place(marks)
            held.seen = step.upto


def _moving(engine: Engine, thread: str) -> Iterator[Held]:
    """The graphs of a thread that this OS thread may change, each while it is locked."""
    for held in (held_graph(engine, thread), _shared(engine, thread)):
        if held is not None:
            with held.lock:
                yield held


def _shared(engine: Engine, thread: str) -> Held | None:
    return cast("Held | None", engine.memo.shelf("graphs", _HELD).get((thread, _SHARED)))


def moved_by_model(
    engine: Engine,
    thread: str,
    mark: TurnMark,
    claims: tuple[Assertion, ...],
    implied: tuple[Implied, ...] = (),
) -> None:
    """A model read a turn: bring the graph in memory along, where it holds that very version."""
    for held in _moving(engine, thread):
        if held.marks.get(mark.opening) == (mark.position, mark.key, mark.sources):
            held.graph.put(TurnClaims(mark.opening, mark.position, claims))
            held.imply({mark.opening: implied})


def _put(reader: Reader, held: Held, marks: Mapping[Ref, TurnMark | None]) -> None:
    """Put turns into the graph, or take them out."""
    keep = [mark for mark in marks.values() if mark is not None and mark.key]
    implied: dict[Ref, tuple[Implied, ...]] = {}
    found = claims_of(reader, keep, implied)
    gone = [o for o, m in marks.items() if (m is None or not m.key) and held.marks.pop(o, None) is not None]
    for mark in keep:
        if mark.opening in found:
            held.marks[mark.opening] = (mark.position, mark.key, mark.sources)
    held.graph.update(found.values(), gone)
    held.imply({opening: implied.get(opening, ()) for opening in (*marks, *gone)})


def claims_of(
    reader: Reader, marks: Sequence[TurnMark], implied: dict[Ref, tuple[Implied, ...]] | None = None
) -> dict[Ref, TurnClaims]:
    """What turns say, by their openings: in the words of a model where one has read them; without what is missing.

    `implied` is filled with what models concluded from the world description.
    """
    keys = list(dict.fromkeys(mark.key for mark in marks))
    made = reader.made(keys)
    better: Mapping[bytes, Read] = {}
    if models_used(reader, ASSERTIONS):
        from backscroll.engine.models.extraction import found_by_models

        better = found_by_models(reader, keys)
    out: dict[Ref, TurnClaims] = {}
    for mark in marks:
        said: tuple[Assertion, ...]
        if mark.key in better:
            claimed = better[mark.key].claimed(mark.sources)
            said = claimed.assertions
            if implied is not None:
                implied[mark.opening] = claimed.reading.implied
        elif mark.key in made:
            said = from_body(made[mark.key].body, mark.sources)
        else:
            continue
        out[mark.opening] = TurnClaims(mark.opening, mark.position, said)
    return out


def graph_of(thread: Thread) -> Graph:
    """The graph as it stands now, for this OS thread."""
    catch_up(thread.engine, thread.id)
    return _brought_along(thread, threading.get_ident()).graph


def _brought_along(thread: Thread, whose: int) -> Held:
    """A graph that is up to date with the marks in the store; made where there is none. Kept for whoever it is."""
    engine = thread.engine
    window, options = window_of(engine.settings), options_of(thread)
    name = progress_name(window)
    shelf = engine.memo.shelf("graphs", _HELD)
    kept = cast("Held | None", shelf.get((thread.id, whose)))
    fresh = kept is None or (kept.rule, kept.options) != (window.rule, options)
    held = Held(options, window.rule) if kept is None or fresh else kept
    with held.lock:
        since = held.since
        if kept is held and engine.store.read(lambda reader: _forgot(reader, thread, since)):
            let_go()
            held = Held(options, window.rule)  # whatever the other keeps to be quick goes with it
        if not _filled(thread, held, name):  # an artefact that others shared was forgotten with their words
            rebuild(engine, thread.id)
            held = Held(options, window.rule)
            _filled(thread, held, name)
    shelf[thread.id, whose] = held
    return held


# -- for prompts -------------------------------------------------------------------------------------------------


@contextmanager
def at_hand(thread: Thread, behind: int) -> Generator[Held | None]:
    """The graph for a prompt, as far as it can be had without waiting; nobody changes it meanwhile.

    None where more events than `behind` wait to be analysed, and where a large one has still to be put together: by the worker,
    or, where none lives, while the next prompt waits. What a worker has not analysed yet is too fresh to be missed.
    """
    held = _for_prompts(thread, behind)
    if held is None or not held.lock.acquire(timeout=_PATIENCE):
        yield None
        return
    try:
        yield held
    finally:
        held.lock.release()


def _for_prompts(thread: Thread, behind: int) -> Held | None:
    engine = thread.engine
    worker = engine.at_work  # a rehearsal starts none
    rule = window_of(engine.settings).rule
    held = _shared(engine, thread.id) if worker is not None else held_graph(engine, thread.id)
    since = None if held is None or held.rule != rule else held.since
    state, late, news = engine.store.read(lambda reader: _behind(engine, reader, thread, since))
    if late > behind:
        return None
    if since is None and worker is not None and state.turns > _SMALL:
        worker.warm(thread.id)
        return None
    if since is None and state.turns > _COLD and _first_time(engine, state):
        return None
    if worker is not None and held is not None and all(e.kind in _QUIET for e in news):
        return held
    if worker is not None and any(e.kind is Kind.FORGOTTEN for e in news):
        engine.memo.shelf("graphs", _HELD).pop((thread.id, _SHARED), None)
        worker.warm(thread.id)
        return None
    catch_up(engine, thread.id)
    return _brought_along(thread, _SHARED if worker is not None else threading.get_ident())


def _behind(
    engine: Engine, reader: Reader, thread: Thread, since: int | None
) -> tuple[ThreadState, int, Sequence[Event]]:
    """The thread, how many events of it wait to be analysed, and what rare things happened that a graph does not hold."""
    state = reader.thread(thread.id)
    assert state is not None
    late = state.head - reader.progress(thread.id, progress_name(window_of(engine.settings)))
    return state, late, () if since is None else View(reader, state).others(since)


def _first_time(engine: Engine, state: ThreadState) -> bool:
    """True where nobody in this process has asked for the graph of a thread before: a process that lives on may wait once."""
    shelf = engine.memo.shelf("graphs wanted", 1000)
    return shelf.setdefault(state.id, state.head) == state.head


def warm(thread: Thread) -> None:
    """Put the graph that prompts share together, or bring it along, and look at what the next prompt is likely to look at.

    For a worker, after it has analysed the turns.
    """
    held = _brought_along(thread, _SHARED)
    words = "\n".join(message.text[:_SAID] for message in thread.legible.recent(4))
    with held.lock:
        if names := held.graph.mentioned(words)[:NAMED]:
            held.graph.around(names, depth=1, limit=SEEN)


def _filled(thread: Thread, held: Held, name: str) -> bool:
    """Bring a held graph up to date; False where something that it needs is not in the store."""
    return not thread.store.read(lambda reader: _refreshed(reader, thread, held, name))


def _refreshed(reader: Reader, thread: Thread, held: Held, name: str) -> bool:
    """Bring a held graph up to date; True where something that it needs is not in the store."""
    seen = reader.progress(thread.id, name)
    models = reader.meta(f"{EXTRACTED}{thread.id}") or ""
    missing = False
    if held.seen != seen or held.models != models:
        same = held.models == models
        some = _newest(reader, thread, held) if same and held.seen < seen else None
        marks = {m.opening: m for m in (reader.turn_marks(thread.id, held.rule) if some is None else some)}
        keyed = {o: m for o, m in marks.items() if m.key}
        news: dict[Ref, TurnMark | None] = {
            o: m for o, m in keyed.items() if not same or held.marks.get(o) != (m.position, m.key, m.sources)
        }
        away = held.marks if some is None else marks
        news |= {o: None for o in away if o in held.marks and o not in keyed}
        _put(reader, held, news)
        held.place(marks, everything=some is None)
        missing = any(o not in held.marks for o in keyed)
        held.seen, held.models = seen, models
    _tell(reader, thread, held)
    return missing


def _newest(reader: Reader, thread: Thread, held: Held) -> list[TurnMark] | None:
    """The marks that may have changed where nothing but new turns came; None where more happened."""
    state = reader.thread(thread.id)
    assert state is not None
    if not held.seen or any(e.kind not in _QUIET for e in View(reader, state).others(held.seen)):
        return None
    most = window_of(thread.engine.settings).size + 2
    found: list[TurnMark] = []
    while sum(not m.gone and m.opening.seq <= held.seen for m in found) < most:
        before = found[-1].position if found else None
        page = reader.turn_marks(thread.id, held.rule, before=before, newest_first=True, limit=4 * most)
        found += page
        if len(page) < 4 * most:
            break
    return found


def _forgot(reader: Reader, thread: Thread, since: int) -> bool:
    """True where words were erased since this event."""
    state = reader.thread(thread.id)
    assert state is not None
    if state.head == since:
        return False
    return any(event.kind is Kind.FORGOTTEN for event in View(reader, state).others(since))


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
    books = [e.id for e in acts_in_force(held.acts, {Kind.WORLD_TOLD})]
    if books != held.books:  # they can be large: read again only where they are others
        held.books = books
        held.tell_world(world_in(held.acts))


def options_of(thread: Thread) -> Options:
    """The fold options of a thread: from the settings, its language and its character card."""
    info = thread.legible.info
    language = "zh" if info.language.startswith("zh") else "en"
    return replace(
        fold_options(thread.engine.settings), language=language, character=card_name(info.metadata)
    )


def fold_options(settings: Settings) -> Options:
    """The fold options that the settings determine."""
    return Options(
        preserve_user_edits=settings.conflict_resolution_preserve_user_edits,
        auto_infer=settings.node_creation_auto_infer_attributes,
        use_world=settings.node_creation_use_world_context,
        min_attributes=settings.node_creation_min_attributes,
    )
