"""Keep graphs in memory: update each turn by turn when it is read, and drop it when text is forgotten.

`graph_of` describes step by step how an edit reaches the graph. Owns how a graph is built from marks, claims, overrides and
world descriptions, and which graphs are kept. Every OS thread has its own, so that no thread changes what another one is
reading; if a background worker runs, prompts share one that the worker keeps, under its lock, and never wait for it.
"""

from __future__ import annotations

import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from backscroll.derive.window import window_of
from backscroll.engine.core.lineage import View
from backscroll.engine.knowledge.analysis import catch_up, progress_name, rebuild
from backscroll.engine.knowledge.graph_acts import overrides_in, world_in
from backscroll.engine.knowledge.graph_cache import (
    HELD,
    SHARED,
    CachedGraph,
    held_graph,
    put_turns,
    shared_graph,
)
from backscroll.engine.knowledge.lore.books import card_name
from backscroll.graph.fold import Graph, let_go
from backscroll.graph.view import Options
from backscroll.record.acts import acts_in_force
from backscroll.record.derived import TurnMark
from backscroll.record.ports import Reader, ThreadState
from backscroll.vocab.event import Event, Kind
from backscroll.vocab.ids import Ref

if TYPE_CHECKING:
    from backscroll.config import Settings
    from backscroll.engine.core.thread_scope import EngineScope, ThreadScope

_PATIENCE = 0.05  # seconds that a prompt waits for a graph that is being updated
_SAID = 4000  # characters of a message that are searched for names
NAMED, SEEN = 5, 10  # nodes that a prompt names, and nodes around them
_SMALL = 20  # turns whose graph is built at once, even with a worker: the first question may be about it
_COLD = 600  # turns whose graph is built while the first prompt of a process waits
_TELLING = frozenset({Kind.OVERRIDDEN, Kind.WORLD_TOLD})
_ACTING = _TELLING | {Kind.LIFTED, Kind.UNDONE, Kind.REDONE}
#: Rare events that change neither a message nor a user's statements about the world.
_QUIET = frozenset(
    {Kind.CREATED, Kind.RENAMED, Kind.TAGGED, Kind.UNTAGGED, Kind.COMPACTED, Kind.CROPPED, Kind.UNCROPPED, Kind.TASKED,
     Kind.REMEMBERED, Kind.CODE_CHANGED, Kind.NOTED}
)  # fmt: skip
#: In the store's meta, for each thread: how many turns a model has analysed.
EXTRACTED = "extracted:"


def graph_of(thread: ThreadScope) -> Graph:
    """Return the current graph, for this OS thread.

    An edit is an event of the log (`engine/log/operations`); it reaches the graph when the graph is next read.
    """
    # 1. Analyse the turns that events touched since the last read: marks, assertions, turn states (`engine/knowledge/analysis`).
    catch_up(thread.engine, thread.id)
    # 2. Put their current assertions into the graph that this OS thread holds, with the user's overrides on top.
    return _up_to_date(thread, threading.get_ident()).graph


def _up_to_date(thread: ThreadScope, whose: int) -> CachedGraph:
    """Return a graph that is up to date with the marks in the store, and keep it for this caller; built if there is none."""
    engine = thread.engine
    window, options = window_of(engine.settings), options_of(thread)
    name = progress_name(window)
    shelf = engine.memo.shelf("graphs", HELD)
    kept = cast("CachedGraph | None", shelf.get((thread.id, whose)))
    fresh = kept is None or (kept.rule, kept.options) != (window.rule, options)
    held = CachedGraph(options, window.rule) if kept is None or fresh else kept
    with held.lock:
        since = held.since
        if kept is held and engine.store.read(lambda reader: _forgot(reader, thread, since)):
            let_go()
            held = CachedGraph(options, window.rule)  # the other graph's caches are discarded with it
        if not _fill_graph(thread, held, name):  # a shared artefact was erased when its text was forgotten
            rebuild(engine, thread.id)
            held = CachedGraph(options, window.rule)
            _fill_graph(thread, held, name)
    shelf[thread.id, whose] = held
    return held


# -- for prompts -------------------------------------------------------------------------------------------------


@contextmanager
def at_hand(thread: ThreadScope, behind: int) -> Generator[CachedGraph | None]:
    """Yield the graph for a prompt, as far as it is available without waiting; it does not change meanwhile.

    None if more than `behind` events wait for analysis, or if a large graph is still to be built: by the worker, or,
    without one, during the next prompt. What a worker has not analysed yet is too recent to matter.
    """
    held = _for_prompts(thread, behind)
    if held is None or not held.lock.acquire(timeout=_PATIENCE):
        yield None
        return
    try:
        yield held
    finally:
        held.lock.release()


def _for_prompts(thread: ThreadScope, behind: int) -> CachedGraph | None:
    engine = thread.engine
    worker = engine.at_work  # a dry run starts none
    rule = window_of(engine.settings).rule
    held = shared_graph(engine, thread.id) if worker is not None else held_graph(engine, thread.id)
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
        engine.memo.shelf("graphs", HELD).pop((thread.id, SHARED), None)
        worker.warm(thread.id)
        return None
    catch_up(engine, thread.id)
    return _up_to_date(thread, SHARED if worker is not None else threading.get_ident())


def _behind(
    engine: EngineScope, reader: Reader, thread: ThreadScope, since: int | None
) -> tuple[ThreadState, int, Sequence[Event]]:
    """Return the thread, how many of its events wait for analysis, and the rare events that a graph does not include."""
    state = reader.thread(thread.id)
    assert state is not None
    late = state.head - reader.progress(thread.id, progress_name(window_of(engine.settings)))
    return state, late, () if since is None else View(reader, state).others(since)


def _first_time(engine: EngineScope, state: ThreadState) -> bool:
    """Return True if this process has not asked for the graph of a thread before: a long-lived process may wait once."""
    shelf = engine.memo.shelf("graphs wanted", 1000)
    return shelf.setdefault(state.id, state.head) == state.head


def warm(thread: ThreadScope) -> None:
    """Build or update the graph that prompts share, and load what the next prompt is likely to read.

    For a worker, after it has analysed the turns.
    """
    held = _up_to_date(thread, SHARED)
    words = "\n".join(message.text[:_SAID] for message in thread.legible.recent(4))
    with held.lock:
        if names := held.graph.find_mentioned_nodes(words)[:NAMED]:
            held.graph.around(names, depth=1, limit=SEEN)


def _fill_graph(thread: ThreadScope, held: CachedGraph, name: str) -> bool:
    """Update a held graph; False if something it needs is not in the store."""
    return not thread.store.read(lambda reader: _refresh_graph(reader, thread, held, name))


def _refresh_graph(reader: Reader, thread: ThreadScope, held: CachedGraph, name: str) -> bool:
    """Update a held graph; True if something it needs is not in the store."""
    # 1. The assertions of turns whose marks changed replace their previous ones.
    missing = _put_changed_turns(reader, thread, held, reader.progress(thread.id, name))
    # 2. Overrides and world descriptions go on top.
    _put_acts(reader, thread, held)
    return missing


def _put_changed_turns(reader: Reader, thread: ThreadScope, held: CachedGraph, seen: int) -> bool:
    """Add to a held graph the turns whose marks changed up to an event; True if something it needs is not in the store."""
    models = reader.meta(f"{EXTRACTED}{thread.id}") or ""
    if (held.seen, held.models) == (seen, models):
        return False
    same = held.models == models
    some = _newest(reader, thread, held) if same and held.seen < seen else None
    marks = {m.opening: m for m in (reader.turn_marks(thread.id, held.rule) if some is None else some)}
    keyed = {o: m for o, m in marks.items() if m.key}
    news: dict[Ref, TurnMark | None] = {
        o: m for o, m in keyed.items() if not same or held.marks.get(o) != (m.position, m.key, m.sources)
    }
    away = held.marks if some is None else marks
    news |= {o: None for o in away if o in held.marks and o not in keyed}
    put_turns(reader, held, news)
    held.place(marks, everything=some is None)
    held.seen, held.models = seen, models
    return any(o not in held.marks for o in keyed)


def _newest(reader: Reader, thread: ThreadScope, held: CachedGraph) -> list[TurnMark] | None:
    """Return the marks that may have changed if only new turns were added; None if more changed."""
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


def _forgot(reader: Reader, thread: ThreadScope, since: int) -> bool:
    """Return True if text was erased since this event."""
    state = reader.thread(thread.id)
    assert state is not None
    if state.head == since:
        return False
    return any(event.kind is Kind.FORGOTTEN for event in View(reader, state).others(since))


def _put_acts(reader: Reader, thread: ThreadScope, held: CachedGraph) -> None:
    """Add to a held graph the overrides and world descriptions recorded since."""
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
    if books != held.books:  # they can be large: read again only if they differ
        held.books = books
        held.tell_world(world_in(held.acts))


def options_of(thread: ThreadScope) -> Options:
    """Return the fold options of a thread: from the settings, its language and its character card."""
    info = thread.legible.info
    language = "zh" if info.language.startswith("zh") else "en"
    return replace(
        fold_options(thread.engine.settings), language=language, character=card_name(info.metadata)
    )


def fold_options(settings: Settings) -> Options:
    """Return the fold options that the settings determine."""
    return Options(
        preserve_user_edits=settings.conflict_resolution_preserve_user_edits,
        auto_infer=settings.node_creation_auto_infer_attributes,
        use_world=settings.node_creation_use_world_context,
        min_attributes=settings.node_creation_min_attributes,
    )
