"""The graph of a user or a project in memory: updated thread by thread when it is read.

Owns the fold over threads: turns in chronological order, the newest wins; a turn that a fork shares with its parent counts
once; pronouns are resolved within each conversation; users' overrides, in any of the threads or for the whole, come on top.
It equals a rebuild. Every OS thread has its own, so that no thread changes what another one reads.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import is_
from typing import TYPE_CHECKING, NamedTuple, cast

from backscroll.engine.core.artefacts import keep_artefacts
from backscroll.engine.core.audience import PROFILE, STATES, ScopeThreads
from backscroll.engine.core.lineage import View
from backscroll.engine.knowledge.graph_acts import overrides_in, world_in
from backscroll.engine.knowledge.graph_holder import fold_options
from backscroll.engine.knowledge.people.turns import ScopeAllowance, ThreadTurns, turns_of
from backscroll.engine.models.usage import ASSERTIONS, models_used
from backscroll.graph.fold import Graph, let_go
from backscroll.graph.resolved_claims import REACH, has_pronouns, resolve_pronouns
from backscroll.graph.view import NodeView, Options, WorldEntry
from backscroll.record.acts import acts_in_force
from backscroll.record.ports import Reader, ThreadState
from backscroll.tasks.preferences.profile import person_in
from backscroll.vocab.assertion import Assertion, Override, TurnClaims
from backscroll.vocab.event import Event, Kind
from backscroll.vocab.ids import Ref
from backscroll.vocab.values.moment import microseconds

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import EngineScope

_HELD = 16  # scopes in memory
_PARTS = 1_000  # threads whose turns are in memory
_ACTING = frozenset({Kind.OVERRIDDEN, Kind.WORLD_TOLD, Kind.LIFTED, Kind.UNDONE, Kind.REDONE})
#: What one prompt may read of unread messages and turns to analyse. With a worker the rest is read later anyway.
_BESIDE, _ALONE = (256, 8), (1_024, 40)
_FEW = 4  # turns whose claims a prompt finds without storing them: the analysis will, and storing costs more than finding


@dataclass(frozen=True, slots=True)
class _GraphShare:
    """What one thread contributes to the graph."""

    state: ThreadState
    turns: ThreadTurns
    told: tuple[TurnClaims, ...]  # with resolved pronouns, in chronological order among all threads
    settled: Mapping[Ref, _SettledTurn]
    acts: tuple[Event, ...]
    forgot: int  # the last event that erased text
    token: object
    since: _ShareDifference | None = None  # what changed, if it continues an earlier share


class _ShareDifference(NamedTuple):
    """How a thread's contribution differs from its previous one."""

    token: object  # of the earlier share
    same: int  # turns at the beginning that are the same
    dropped: tuple[Ref, ...]  # first messages of its other turns


class _SettledTurn(NamedTuple):
    """A turn with resolved pronouns, and the turns they were resolved from."""

    turn: TurnClaims
    before: tuple[TurnClaims, ...]
    result: TurnClaims

    def fits(self, turn: TurnClaims, before: Sequence[TurnClaims]) -> bool:
        """Return True if it was made from these very turns."""
        same = len(before) == len(self.before) and all(map(is_, before, self.before))
        return turn is self.turn and same


@dataclass
class CachedScope:
    """A graph over several threads, and what it was made from."""

    scope: ScopeThreads
    options: Options
    graph: Graph = field(init=False)
    parts: dict[str, _GraphShare] = field(default_factory=dict[str, _GraphShare])  # by thread
    families: dict[str, dict[Ref, TurnClaims]] = field(default_factory=dict[str, dict[Ref, TurnClaims]])
    overrides: tuple[Override, ...] = ()
    books: tuple[Ref, ...] = ()  # the events whose world descriptions are included
    world: tuple[WorldEntry, ...] = ()

    def __post_init__(self) -> None:
        self.graph = Graph(options=self.options)

    @property
    def pending(self) -> bool:
        """True if some turns are still to be read."""
        return any(part.turns.unread or part.turns.unfound for part in self.parts.values())

    def turns(self) -> Iterator[TurnClaims]:
        """Return the turns it includes, in no order."""
        return (turn for family in self.families.values() for turn in family.values())

    def claims(self, opening: Ref) -> Sequence[Assertion]:
        """Return what one turn states."""
        found = (family[opening] for family in self.families.values() if opening in family)
        return next((turn.claims for turn in found), ())

    @property
    def acted(self) -> bool:
        """True if the user ever overrode anything."""
        return any(part.acts for part in self.parts.values())


def held_scope(engine: EngineScope, scope: ScopeThreads, *, ready: bool = False) -> CachedScope:
    """Return the current graph of a scope. `ready`: for a prompt, which reads at most a fixed amount of what is new."""
    shelf = engine.memo.shelf("scopes", _HELD)
    name = (scope, threading.get_ident())
    options = _options(engine, scope)
    kept = cast("CachedScope | None", shelf.get(name))
    held = kept if kept is not None and kept.options == options else CachedScope(scope, options)
    reading = ScopeAllowance()
    if ready:
        reading = ScopeAllowance(*(_BESIDE if engine.at_work is not None else _ALONE))
    held = engine.store.read(lambda reader: _refresh_scope(engine, reader, held, reading))
    if not ready or len(reading.fresh) > _FEW:
        keep_artefacts(engine, reading.fresh)
    shelf[name] = held
    return held


def _options(engine: EngineScope, scope: ScopeThreads) -> Options:
    return replace(fold_options(engine.settings), user=scope.name if scope.kind == "user" else "user")


def _refresh_scope(
    engine: EngineScope, reader: Reader, held: CachedScope, reading: ScopeAllowance
) -> CachedScope:
    """Update a held graph, or return a new one if text was erased that the old one may still contain."""
    rows = held.scope.threads(reader, memo=engine.memo.shelf(STATES, 64))
    states = {state.id: state for state in rows}
    modelled = bool(models_used(reader, ASSERTIONS))
    parts: dict[str, _GraphShare] = {}
    for state in reversed(list(states.values())):  # the newest first: a waiting caller's allowance runs out
        parts[state.id] = _part(engine, reader, state, held.scope, reading, modelled=modelled)
    gone = held.parts.keys() - states.keys()
    if gone or any(name in parts and parts[name].forgot != old.forgot for name, old in held.parts.items()):
        let_go()
        held = CachedScope(held.scope, held.options)
    changed = [name for name, part in parts.items() if held.parts.get(name) is not part]
    if not changed:
        return held
    acted = any(parts[name].acts for name in changed)
    before, held.parts = held.parts, parts
    roots = dict.fromkeys(parts[name].state.root for name in changed)
    for root in roots:
        family = [parts[name] for name, state in states.items() if state.root == root]
        _put(reader, held, root, family, before)
    if acted:
        _tell(held, [parts[name] for name in states])
    return held


def _put(
    reader: Reader,
    held: CachedScope,
    root: str,
    family: Sequence[_GraphShare],
    before: Mapping[str, _GraphShare],
) -> None:
    """Update what one family of threads states; if a thread only grew, only its end is read."""
    one = family[0]
    last, since = before.get(one.state.id), one.since
    if len(family) == 1 and since is not None and last is not None and last.token is since.token:
        put = one.told[since.same :]
        gone = set(since.dropped) - {turn.opening for turn in put}
        held.graph.update(put, gone)
        for opening in gone:
            del held.families[root][opening]
        held.families[root].update((turn.opening, turn) for turn in put)
        return
    old = held.families.get(root, {})
    new = {turn.opening: turn for turn in one.told} if len(family) == 1 else _merge_turns(reader, family)
    news = [turn for opening, turn in new.items() if old.get(opening) != turn]
    held.graph.update(news, [opening for opening in old if opening not in new])
    held.families[root] = new


def _part(
    engine: EngineScope,
    reader: Reader,
    state: ThreadState,
    scope: ScopeThreads,
    reading: ScopeAllowance,
    *,
    modelled: bool,
) -> _GraphShare:
    """Return what a thread contributes; an unchanged thread is not read again."""
    shelf = engine.memo.shelf("scope-threads", _PARTS)
    # In a project's graph, "I" is a different person in each user's threads.
    named = state.about.user if scope.everybody else ""
    name = (state.id, named)
    known = cast("_GraphShare | None", shelf.get(name))
    read = None if known is None else known.turns
    turns = turns_of(engine, reader, state, read, reading, modelled=modelled)
    if known is not None and known.turns is turns:
        return known
    news = View(reader, state).others(0 if known is None else known.turns.head)
    forgot = max(
        (e.seq for e in news if e.kind is Kind.FORGOTTEN), default=0 if known is None else known.forgot
    )
    if known is not None and forgot != known.forgot:
        known, news = None, View(reader, state).others()
    acts = (*(() if known is None else known.acts), *(e for e in news if e.kind in _ACTING))
    if known is None:
        told, kept = _place_turns(state, turns, 0, (), named, {})
        shelf[name] = made = _GraphShare(state, turns, tuple(told), kept, acts, forgot, object())
        return made
    low = min(len(known.turns.order), len(turns.order))
    same = next((n for n in (low, low - 1) if n > 0 and turns.order[:n] == known.turns.order[:n]), 0)
    told, kept = _place_turns(state, turns, same, known.told[:same], named, known.settled)
    since = _ShareDifference(known.token, same, tuple(turn.opening for turn in known.told[same:]))
    whole = (*known.told[:same], *told)
    shelf[name] = made = _GraphShare(state, turns, whole, kept, acts, forgot, object(), since)
    return made


def _place_turns(
    state: ThreadState,
    turns: ThreadTurns,
    same: int,
    told: Sequence[TurnClaims],
    named: str,
    known: Mapping[Ref, _SettledTurn],
) -> tuple[list[TurnClaims], dict[Ref, _SettledTurn]]:
    """Return the turns of a thread after the first `same`, with their times; none precedes an earlier turn of its thread."""
    out: list[TurnClaims] = []
    kept = dict(known)
    latest = int.from_bytes(told[-1].position[:8]) if told else 0
    for number in range(same, len(turns.order)):
        turn = turns.order[number]
        latest = max(latest, turns.times[turn.opening])
        whole = turn
        if has_pronouns(turn):
            before = turns.order[max(0, number - REACH) : number]
            held = known.get(turn.opening)
            if held is None or not held.fits(turn, before):
                held = _SettledTurn(turn, tuple(before), resolve_pronouns(turn, before))
            kept[turn.opening] = held
            whole = held.result
        claims = whole.claims if not named else tuple(_rename_user(claim, named) for claim in whole.claims)
        place = max(0, latest).to_bytes(8) + state.id.encode() + turn.position
        out.append(TurnClaims(turn.opening, place, claims))
    return out, kept


def _rename_user(claim: Assertion, user: str) -> Assertion:
    """Return a user's claim with "I" replaced by the user."""

    def name(text: str) -> str:
        return user if text == "user" else text

    return replace(claim, subject=name(claim.subject), object=name(claim.object), speaker=name(claim.speaker))


def _merge_turns(reader: Reader, parts: Sequence[_GraphShare]) -> dict[Ref, TurnClaims]:
    """Return all turns by their first messages. If forks hold different versions of a turn, the one with the newest text counts."""
    out: dict[Ref, TurnClaims] = {}
    sources: dict[Ref, tuple[Ref, ...]] = {}
    for part in parts:
        own = {turn.opening: turn.sources for turn in part.turns.turns}
        for turn in part.told:
            before = out.get(turn.opening)
            if before is None or (
                sources[turn.opening] != own[turn.opening]
                and _find_newest_revision(reader, own[turn.opening])
                > _find_newest_revision(reader, sources[turn.opening])
            ):
                out[turn.opening], sources[turn.opening] = turn, own[turn.opening]
    return out


def _find_newest_revision(reader: Reader, sources: Sequence[Ref]) -> tuple[int, Ref]:
    """Return when the newest of some revisions was written."""
    events = [event for event in map(reader.event, sources) if event is not None]
    return max(((microseconds(event.at), event.id) for event in events), default=(0, Ref("", 0)))


def _tell(held: CachedScope, parts: Sequence[_GraphShare]) -> None:
    """Apply the users' overrides: those of each thread, the oldest first, then those for the whole."""
    found: dict[Ref | None, tuple[bool, int, str, Override]] = {}
    worlds: dict[Ref, None] = {}
    for part in parts:
        about = part.state.about
        whole = about.kind == PROFILE and about.key == held.scope.key
        for override in overrides_in(part.acts):
            found[override.id] = (whole, microseconds(override.at), str(override.id), override)
        worlds |= dict.fromkeys(event.id for event in acts_in_force(part.acts, {Kind.WORLD_TOLD}))
    overrides = tuple(each[-1] for each in sorted(found.values(), key=lambda each: each[:3]))
    if overrides != held.overrides:
        held.overrides = overrides
        held.graph.set_overrides(overrides)
    if tuple(worlds) != held.books:
        held.books = tuple(worlds)
        held.world = tuple(entry for part in parts for entry in world_in(part.acts))
        held.graph.set_world(held.world)


def person_of(held: CachedScope) -> NodeView | None:
    """Return the node of the user of a scope."""
    return person_in(held.graph, held.scope.name if held.scope.kind == "user" else "")
