"""The rare events of a thread that matter to memory: users' changes, boundaries, and what may have changed a message.

Owns reading them once (texts are not cached), and whether a revision that a memory rests on is still unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from backscroll.engine.core.lineage import View
from backscroll.record.acts import acts_in_force
from backscroll.record.history import HIDDEN
from backscroll.record.ports import Reader
from backscroll.vocab.event import SPEAKING, Event, Kind
from backscroll.vocab.ids import Ref

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import EngineScope

#: Events at which the memory section of prompts may change by itself; undoing one is another.
_BOUNDARIES = frozenset({Kind.TASKED, Kind.COMPACTED, Kind.REMEMBERED, Kind.LIFTED})
_ACTS = frozenset({Kind.REMEMBERED, Kind.LIFTED, Kind.UNDONE, Kind.REDONE})
#: Events that add to a history without changing a message in it.
_HARMLESS = frozenset(
    {Kind.CREATED, Kind.RENAMED, Kind.TAGGED, Kind.UNTAGGED, Kind.DESCRIBED, Kind.COMPACTED, Kind.CROPPED, Kind.UNCROPPED,
     Kind.FLUSHED, Kind.OVERRIDDEN, Kind.LIFTED, Kind.WORLD_TOLD, Kind.TASKED, Kind.REMEMBERED, Kind.CODE_CHANGED, Kind.NOTED}
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class MemoryHorizon:
    """Up to where memories count: an event of the current thread, and its time."""

    seq: int
    at: str


@dataclass(frozen=True, slots=True)
class RareEvents:
    """The rare events of a thread read so far, without their texts."""

    seen: int = 0
    last: int = 0  # the last rare event
    touched: int = 0  # the last one that may have changed a message
    acts: tuple[Event, ...] = ()
    bounds: tuple[Event, ...] = ()  # boundaries, and undo events
    edge: MemoryHorizon | None = None  # the last of these in force; the first event if there is none
    first: MemoryHorizon | None = None


def rare_of(engine: EngineScope, view: View) -> RareEvents:
    """Return the rare events of a thread; those read before are not read again."""
    shelf = engine.memo.shelf("remembered-acts", 400)
    known = cast("RareEvents", shelf.get(view.state.id) or RareEvents())
    if known.seen > view.as_of:
        known = RareEvents()
    if known.seen == view.as_of and known.seen:
        return known
    fresh = view.others(known.seen)
    if not fresh and known.seen:
        known = shelf[view.state.id] = replace(known, seen=view.as_of)
        return known
    acts = tuple(replace(e, body=None) for e in fresh if e.kind in _ACTS)
    harm = [e.seq for e in fresh if e.kind not in _HARMLESS]
    turning = _BOUNDARIES | {Kind.UNDONE, Kind.REDONE}
    bounds = (*known.bounds, *(replace(e, body=None, commit=b"") for e in fresh if e.kind in turning))
    first = known.first or (MemoryHorizon(fresh[0].seq, fresh[0].at) if fresh else None)
    holding = acts_in_force(bounds, _BOUNDARIES)  # an undo restores the section as it was
    edge = MemoryHorizon(holding[-1].seq, holding[-1].at) if holding else first
    known = RareEvents(
        view.as_of,
        fresh[-1].seq if fresh else known.last,
        harm[-1] if harm else known.touched,
        (*known.acts, *acts),
        bounds,
        edge,
        first,
    )
    shelf[view.state.id] = known
    return known


def edge_of(engine: EngineScope, view: View) -> MemoryHorizon:
    """Return the last event at which the memory section of a thread may change by itself."""
    return rare_of(engine, view).edge or MemoryHorizon(0, view.state.created_at)


def acts_of(view: View, rare: RareEvents) -> list[Event]:
    """Return users' changes to memories that are in force, with their texts."""
    # Without its body, an event with text would look forgotten: that is reported after reading it again.
    lean = [replace(e, commit=b"") for e in rare.acts]
    read = [view.event(e.seq) for e in acts_in_force(lean, {Kind.REMEMBERED})]
    return [e for e in read if e is not None and not e.forgotten]


class EvidenceCheck:
    """Checks whether a revision that a user's text rests on is unchanged."""

    def __init__(self, reader: Reader, views: Sequence[View]) -> None:
        self._reader = reader
        self._views = {view.state.id: view for view in views}

    def sound(self, act: Event, revision: Ref) -> bool:
        """Return True if the thread of a change (else the one that holds the revision) still shows it."""
        event = self._reader.event(revision)
        if event is None or event.forgotten:
            return False
        if event.kind not in SPEAKING or event.message is None:
            return True
        for name in (act.thread, revision.thread):
            view = self._view(name)
            entry = None if view is None else view.entry(event.message)
            if entry is not None:
                return entry.live and not entry.flags & HIDDEN and entry.revision == revision
        return False

    def _view(self, thread: str) -> View | None:
        if thread not in self._views:
            state = self._reader.thread(thread)
            if state is None:
                return None
            self._views[thread] = View(self._reader, state)
        return self._views[thread]
