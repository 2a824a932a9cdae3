"""The knowledge graph of a user or a project: what all of their threads say, with what people changed on top.

Reading is that of a thread's graph. What is changed here holds for the whole: it is an event of a thread of its own, the profile
thread, made with the first change, so undo, export and forget reach it as they reach any other.
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
    """The knowledge graph over several threads: reading it, correcting it."""

    def __init__(self, engine: EngineScope, scope: ScopeThreads) -> None:
        if not scope.name:
            raise InvalidInput(f"a {scope.kind} needs a name", hint='such as store.graph(user="ann")')
        self.engine, self.scope = engine, scope

    @property
    def thread(self) -> ThreadScope:
        """The thread that holds what people changed about the whole; begun with the first change."""
        scope = self.scope
        user, project = (scope.name, "") if scope.kind == "user" else ("", scope.name)
        about = partial(ThreadDescription, scope.name, project, PROFILE, user=user)
        return self.engine.thread(self.engine.begin_once(scope.key, about, user=user).id)

    def current(self) -> Graph:
        """Return the graph as it stands now."""
        return held_scope(self.engine, self.scope).graph

    def numbers(self) -> Callable[[Ref], int]:
        """Tells the number of a turn, in its own thread, by its opening; -1 where that is not in its history any more."""
        known: dict[Ref, int] = {}

        def number(opening: Ref) -> int:
            if opening not in known:
                known[opening] = _find_turn_number(self.engine, opening)
            return known[opening]

        return number

    def at(self, turn: int) -> Graph:
        """Turns are numbered in each thread by itself."""
        raise InvalidInput(
            f"turn {turn} of which thread?",
            hint="ask the graph of that thread: store.thread(id).graph.at(turn)",
        )

    @in_valid_text
    def pin(self, node: str, predicate: str) -> Override:
        """Keep what is held now, whatever is said later. The act is recorded where it was said, and forgotten with it."""
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
        """Turns are numbered in each thread by itself."""
        raise InvalidInput(
            f"{node} can be split in one thread only", hint="use the graph of the thread that speaks of both"
        )

    def overrides(self) -> list[Override]:
        """Return the changes in force that people made in any of the threads, and then those about the whole."""
        return list(held_scope(self.engine, self.scope).overrides)

    def lift(self, override: Ref | int) -> None:
        """A change holds no longer; what the text says counts again."""
        found = [o for o in self.overrides() if o.id is not None and override in (o.id, o.id.seq)]
        if len(found) != 1 or found[0].id is None:
            raise NotFound(
                f"no single override {override} is in force",
                hint="`overrides()` lists them; give its full id",
            )
        ThreadGraph(self.engine.thread(found[0].id.thread)).lift(found[0].id.seq)

    def world(self) -> list[WorldEntry]:
        """Return the entries of the world descriptions in force, in any of the threads."""
        return list(held_scope(self.engine, self.scope).world)


def _find_turn_number(engine: EngineScope, opening: Ref) -> int:
    def work(reader: Reader) -> int:
        state = reader.thread(opening.thread)
        return -1 if state is None else number_in(View(reader, state), opening)

    return engine.store.read(work)
