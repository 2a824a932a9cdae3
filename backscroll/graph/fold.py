"""The graph: a fold of what the live turns say, in order, the latest wins, with the user's overrides on top.

Never patched: adding or dropping a turn gives exactly the graph that would be built from the remaining turns, so a fact
returns when its successor goes, and nothing of a dropped turn remains. Reading is lazy: a node is folded when it is read
and cached until a change touches it. Knows no stores, clocks or models.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from backscroll.errors import InvalidInput, NotFound
from backscroll.graph.claims import names
from backscroll.graph.claims.predicates import direction, normalize_predicate
from backscroll.graph.dependencies import ChangingGraphState
from backscroll.graph.naming.identity import NameGroup, split_owner
from backscroll.graph.reading.conflicts import conflicts
from backscroll.graph.reading.lookup import Lookup
from backscroll.graph.reading.nodes import all_facts, surroundings, view_of
from backscroll.graph.reading.suggestions import questions, suggestions
from backscroll.graph.view import (
    Contradiction,
    Fact,
    MergeSuggestion,
    Neighbourhood,
    NodeView,
    Options,
    Question,
    Rank,
    WorldEntry,
)
from backscroll.graph.world import completion
from backscroll.graph.world import nodes as nodes_of_world
from backscroll.graph.world.nodes import world_node, world_nodes
from backscroll.graph.world.words import form_of
from backscroll.vocab.assertion import Override, TurnClaims
from backscroll.vocab.ids import Ref


class Graph:
    """The current state of the world as the turns describe it."""

    def __init__(
        self,
        turns: Iterable[TurnClaims] = (),
        overrides: Sequence[Override] = (),
        world: Sequence[WorldEntry] = (),
        options: Options = Options(),  # noqa: B008 - frozen
    ) -> None:
        self._options = options
        self._world = tuple(world)
        self._overrides = tuple(overrides)
        layer = self._overrides if options.preserve_user_edits else ()
        self._weave = ChangingGraphState(layer, options.user, options.character)
        self._lookup = Lookup(self._weave)
        self._conflicts: list[Contradiction] | None = None
        self._suggestions: list[MergeSuggestion] | None = None
        self._weave.change(list(turns))

    # Changing its inputs.

    def put(self, turn: TurnClaims) -> None:
        """Replace or add the claims of one turn."""
        self._weave.change([turn])
        self._stale()

    def drop(self, opening: Ref) -> None:
        """Drop the claims of one turn."""
        self._weave.change(drop=[opening])
        self._stale()

    def update(self, put: Iterable[TurnClaims] = (), drop: Iterable[Ref] = ()) -> None:
        """Replace, add and drop many turns at once: much quicker than one by one."""
        self._weave.change(list(put), drop)
        self._stale()

    def set_overrides(self, overrides: Sequence[Override]) -> None:
        """Replace the overrides; the oldest first."""
        self._overrides = tuple(overrides)
        if self._options.preserve_user_edits:
            self._weave.override(self._overrides)
        self._stale()

    def set_world(self, world: Sequence[WorldEntry]) -> None:
        """Replace the world description."""
        self._world = tuple(world)
        self._weave.forget_views()
        self._stale()

    def _stale(self) -> None:
        self._conflicts = self._suggestions = None

    # Finding.

    def find(self, name: str) -> str | None:
        """Return the id of the node with this id, readable id, name or alias; None if there is none, or more than one."""
        found = self._find_groups(name)
        return self._id(found[0]) if len(found) == 1 else None

    def _find_groups(self, name: str) -> list[NameGroup]:
        """Return every node that a name may refer to."""
        exact = self._lookup.exact(name)
        if exact is not None:
            return [exact]
        asked = name.strip().casefold()
        near = self._lookup.by_readable(asked)
        return [g for g in near if self._view(g).readable == asked]

    def _one(self, name: str) -> NameGroup:
        found = self._find_groups(name)
        if not found:  # for people, part of a name is enough: the only John, or all of them
            found = [g for g in self._lookup.by_part(name) if self._weave.type(g) == "person"]
        if len(found) == 1:
            return found[0]
        if found:
            ids = ", ".join(self._id(group) for group in found[:8])
            raise InvalidInput(
                f"{name!r} matches several nodes: {ids}", hint="use the full name of one of them"
            )
        near = self._lookup.nearest(name)
        if near:
            raise NotFound(f"node {name!r} not found in the graph", hint=f"similar names: {', '.join(near)}")
        raise NotFound(
            f"node {name!r} not found in the graph",
            hint="turns are analysed a little later than they are said",
        )

    def node(self, name: str) -> NodeView:
        """Return a node by its id, readable id, name or alias."""
        try:
            return self._view(self._one(name))
        except NotFound:
            if (told := world_node(self._world, self._options, name)) is None or self._hides(told):
                raise
            return told

    def _hides(self, told: NodeView) -> bool:
        """Return True for a node of the world that the user deleted, or that the conversation calls by another name."""
        return self._weave.layer.hides((told.id,)) or self._lookup.exact(told.name) is not None

    def ids(self) -> list[str]:
        """Return ids of all nodes, in order of first appearance."""
        return [self._id(group) for group in self._weave.groups()]

    def nodes(
        self, *, type: str = "", text: str = "", limit: int | None = None, candidates: bool = False
    ) -> list[NodeView]:
        """Return nodes in order of appearance: of a type, with some text in a name or a value; with `candidates` also those
        whose evidence is too weak to be shown.
        """
        out: list[NodeView] = []
        wanted = text.casefold()
        for group in self._weave.groups(candidates=candidates):
            if limit is not None and len(out) >= limit:
                break
            if type and self._weave.type(group) != type and self._view(group).type != type:
                continue
            view = self._view(group)
            if not wanted or any(wanted in word.casefold() for word in _words(view)):
                out.append(view)
        return [*out, *self._of_world(type, wanted, None if limit is None else limit - len(out))]

    def _of_world(self, type: str, wanted: str, most: int | None) -> list[NodeView]:
        """Return nodes that appear only in the world description."""
        told = world_nodes(self._world, self._options)
        if not told or most == 0:
            return []
        known = {
            form_of(name)
            for g in self._weave.groups()
            for name in (self._view(g).name, *self._view(g).aliases)
        }
        fresh = [
            node
            for node in told.values()
            if (not type or node.type == type)
            and known.isdisjoint(map(form_of, (node.name, *node.aliases)))
            and not self._weave.layer.hides((node.id,))
            and (not wanted or any(wanted in word.casefold() for word in _words(node)))
        ]
        return fresh[:most]

    def find_mentioned_nodes(self, text: str) -> list[str]:
        """Return ids of nodes whose names occur in a text, in its order; of several names at one place the longest counts."""
        return [self._id(group) for group in self._lookup.find_mentioned_nodes(text)]

    def members(self, name: str) -> tuple[str, ...]:
        """Return the keys of the node with this name; an override may refer to any of them."""
        return tuple(key for key in self._one(name).members if self._weave.lives(key))

    # Reading.

    def around(self, names: Sequence[str], *, depth: int = 1, limit: int = 40) -> Neighbourhood:
        """Return nodes around the given ones, the nearest first, and the relations between them."""
        starts = {id(group): group for group in (self._one(name) for name in names)}
        return surroundings(self._weave, list(starts.values()), depth, limit, self._world, self._options)

    def history(self, name: str, predicate: str = "") -> list[Fact]:
        """Return all values that ever held, the oldest first, with the turns in which they began and ended."""
        return all_facts(self._weave, self._one(name), normalize_predicate(predicate))

    def why(self, name: str, predicate: str = "", object: str = "") -> list[Fact]:  # noqa: A002
        """Return the facts about a node (a predicate, a value or another node) with their supporting sentences."""
        group = self._one(name)
        view = self._view(group)
        known = [f for f in all_facts(self._weave, group, normalize_predicate(predicate)) if f.current]
        known += [f for f in (*view.attributes, *view.relations) if f.rank in (Rank.WORLD, Rank.DEFAULT)]
        if predicate:
            known = [f for f in known if f.predicate == normalize_predicate(predicate)]
        if not object:
            return known
        other = self.find(object) or object
        return [f for f in known if f.object == other or f.value.casefold() == object.strip().casefold()]

    def at(self, position: bytes) -> Graph:
        """Return the facts as of the turn at this position; overrides hold at any time."""
        turns = [said.turn for said in self._weave.turns.values() if said.turn.position <= position]
        return Graph(turns, self._overrides, self._world, self._options)

    # Contradictions and questions.

    def conflicts(self) -> list[Contradiction]:
        """Return things that cannot both be true, and which of them is held."""
        if self._conflicts is None:
            self._conflicts = conflicts(self._weave)
        return list(self._conflicts)

    def suggestions(self) -> list[MergeSuggestion]:
        """Return nodes that may be the same, the likeliest first."""
        if self._suggestions is None:
            self._suggestions = suggestions(self._weave, self._world)
        return list(self._suggestions)

    def questions(self) -> list[Question]:
        """Return questions that only the user can answer."""
        return questions(self._weave, self.conflicts(), self.suggestions(), self._view)

    @property
    def unsettled(self) -> int:
        """Claims whose pronoun fits no node; they are left out."""
        return self._weave.unsettled

    # Turns.

    def _find_introduced_groups(self, opening: Ref) -> list[NameGroup]:
        said = self._weave.turns.get(opening)
        if said is None:
            return []
        groups = {id(group): group for group in map(self._weave.group, said.firsts)}
        first = [
            g for g in groups.values() if self._weave.first(g)[0][2] == opening and self._weave.visible(g)
        ]
        return sorted(first, key=self._weave.first)

    def find_affected_turns(self, opening: Ref) -> list[Ref]:
        """Return the later turns that mention what a turn introduces, in order."""
        found = {
            ref for group in self._find_introduced_groups(opening) for ref in self._weave.openings(group)
        }
        found.discard(opening)
        return sorted(found, key=lambda ref: self._weave.turns[ref].place)

    def _id(self, group: NameGroup) -> str:
        return self._weave.first(group)[1]

    def _view(self, group: NameGroup) -> NodeView:
        return view_of(self._weave, group, self._world, self._options)


def let_go() -> None:
    """Clear caches that are kept outside any graph; called when text is erased."""
    names.let_go()
    completion.let_go()
    nodes_of_world.let_go()
    split_owner.cache_clear()
    direction.cache_clear()
    normalize_predicate.cache_clear()


def _words(view: NodeView) -> list[str]:
    """Return every word under which a node may be looked up."""
    return [view.name, view.id, view.readable, *view.aliases, *(fact.value for fact in view.attributes)]
