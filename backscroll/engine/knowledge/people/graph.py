"""The knowledge graph of a user or a project: what all of their threads state, with overrides on top.

Reads like a thread's graph. A change made here applies to the whole: it is an event of a separate thread, the profile
thread, created with the first change, so undo, export and forget apply to it as to any other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from backscroll.engine.core.audience import PROFILE, ScopeThreads
from backscroll.engine.core.checks import in_valid_text
from backscroll.engine.core.lineage import View
from backscroll.engine.core.signatures import doors
from backscroll.engine.knowledge.analysis_marks import number_in
from backscroll.engine.knowledge.graph import ThreadGraph
from backscroll.engine.knowledge.graph_acts import revisions_of
from backscroll.engine.knowledge.people.cache import held_scope
from backscroll.errors import InvalidInput, NotFound
from backscroll.graph.fold import Graph
from backscroll.graph.view import WorldEntry
from backscroll.record.ports import Reader
from backscroll.record.thread_info import ThreadDescription
from backscroll.vocab.assertion import Change, Override
from backscroll.vocab.ids import Ref

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import EngineScope, ThreadScope


@doors
class ScopeGraph(ThreadGraph):
    """The knowledge graph over several threads: read it and correct it."""

    def __init__(self, engine: EngineScope, scope: ScopeThreads) -> None:
        if not scope.name:
            raise InvalidInput(f"a {scope.kind} needs a name", hint='such as store.graph(user="ann")')
        self.engine, self.scope = engine, scope

    @property
    def thread(self) -> ThreadScope:
        """The profile thread, which holds the overrides for the whole; created with the first change."""
        scope = self.scope
        user, project = (scope.name, "") if scope.kind == "user" else ("", scope.name)
        about = partial(ThreadDescription, scope.name, project, PROFILE, user=user)
        return self.engine.thread(self.engine.begin_once(scope.key, about, user=user).id)

    def current(self) -> Graph:
        """Return the current graph."""
        return held_scope(self.engine, self.scope).graph

    def numbers(self) -> Callable[[Ref], int]:
        """Return a function that gives the number of a turn within its thread; -1 if it is no longer in the history."""
        known: dict[Ref, int] = {}

        def number(opening: Ref) -> int:
            if opening not in known:
                known[opening] = _find_turn_number(self.engine, opening)
            return known[opening]

        return number

    def at(self, turn: int) -> Graph:
        """Not available: turns are numbered per thread."""
        raise InvalidInput(
            f"turn {turn} of which thread?",
            hint="ask the graph of that thread: store.thread(id).graph.at(turn)",
        )

    @in_valid_text
    def pin(self, node: str, predicate: str) -> Override:
        """Pin the current value, whatever later turns say. The pin is recorded in the thread that states it, and forgotten with it."""
        facts = [f for f in self.why(node, self._predicate(predicate)) if f.current]
        said = [source for fact in facts for source in revisions_of(fact)]
        if not said:
            raise NotFound(
                f"{node} has no {predicate} to pin",
                hint="run `backscroll user show` to list facts",
            )
        bodies = [self._body(Change.PIN, node, f.predicate, f.value, other=f.object) for f in facts]
        home = ThreadGraph(self.engine.thread(said[-1].thread))
        return home.write_changes(bodies, [revisions_of(f) for f in facts])[0]

    @in_valid_text
    def split(self, node: str, turns: Sequence[int], name: str = "") -> Override:  # noqa: ARG002 - a thread's signature
        """Not available: turns are numbered per thread."""
        raise InvalidInput(
            f"{node} can be split in one thread only", hint="use the graph of the thread that speaks of both"
        )

    def overrides(self) -> list[Override]:
        """Return the overrides in force: those of each thread, then those for the whole."""
        return list(held_scope(self.engine, self.scope).overrides)

    def lift(self, override: Ref | int) -> None:
        """Lift an override; what the text states applies again."""
        found = [o for o in self.overrides() if o.id is not None and override in (o.id, o.id.seq)]
        if len(found) != 1 or found[0].id is None:
            raise NotFound(
                f"no single override {override} is in force",
                hint="`overrides()` lists them; give its full id",
            )
        ThreadGraph(self.engine.thread(found[0].id.thread)).lift(found[0].id.seq)

    def world(self) -> list[WorldEntry]:
        """Return the entries of the world descriptions in force in any of the threads."""
        return list(held_scope(self.engine, self.scope).world)


def _find_turn_number(engine: EngineScope, opening: Ref) -> int:
    def work(reader: Reader) -> int:
        state = reader.thread(opening.thread)
        return -1 if state is None else number_in(View(reader, state), opening)

    return engine.store.read(work)
