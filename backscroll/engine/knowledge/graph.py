"""The graph of a thread, as users and prompts read it: what the analysed turns state, with the user's overrides on top.

A user's change is an event of the log: `undo` reverts it, forks inherit it, and no analysis overwrites it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from backscroll.deprecation import warn_renamed
from backscroll.engine.core.checks import in_valid_text
from backscroll.engine.core.pen import Pen
from backscroll.engine.core.signatures import doors
from backscroll.engine.knowledge.analysis_marks import number_in
from backscroll.engine.knowledge.graph_acts import (
    known_type,
    messages_behind,
    next_copy,
    override_of,
    overrides_in,
    predicate_meant,
    revisions_of,
    told_as,
    type_meant,
    world_in,
)
from backscroll.engine.knowledge.graph_holder import graph_of
from backscroll.engine.knowledge.idle import flush_if_idle
from backscroll.engine.knowledge.lore.imports import tell_book
from backscroll.engine.knowledge.turn_states import ThreadWindow, flush_turns
from backscroll.errors import InvalidInput, NotFound
from backscroll.graph.claims.names import key_of
from backscroll.graph.fold import Graph
from backscroll.graph.view import (
    Contradiction,
    Fact,
    MergeSuggestion,
    Neighbourhood,
    NodeView,
    Question,
    WorldEntry,
)
from backscroll.vocab.assertion import Change, Override, TurnStatus
from backscroll.vocab.event import Event, Kind
from backscroll.vocab.ids import Ref
from backscroll.vocab.part import Json

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import ThreadScope


@doors
class ThreadGraph:
    """The knowledge graph of one thread: read it, correct it, and describe the world to it."""

    def __init__(self, thread: ThreadScope) -> None:
        self.thread = thread

    def current(self) -> Graph:
        """Return the current graph; turns that are due are analysed first."""
        graph = graph_of(self.thread)
        return graph_of(self.thread) if flush_if_idle(self.thread.engine, self.thread.id) else graph

    @property
    def view(self) -> Graph:
        """The old name of `current()`; deprecated, because it runs the analysis."""
        warn_renamed("graph.view", "graph.current()")
        return self.current()

    def flush(self) -> int:
        """Analyse every turn now, without the delay; return how many were waiting."""
        return flush_turns(self.thread)

    def turns(
        self, first: int = 0, last: int | None = None, *, last_turns: int | None = None
    ) -> list[TurnStatus]:
        """List the analysis status of each turn; `last_turns` limits it to the newest so many."""
        return ThreadWindow(self.thread).states(first, last, last_turns=last_turns)

    # -- reading ---------------------------------------------------------------------------------------------

    @in_valid_text
    def node(self, name: str) -> NodeView:
        """Return one node by id, readable id, name or alias."""
        return self.current().node(name)

    @in_valid_text
    def nodes(
        self, *, type: str = "", text: str = "", limit: int | None = None, candidates: bool = False
    ) -> list[NodeView]:
        """Return nodes in order of first appearance: of one type, or with a text in a name, alias or attribute.

        `candidates=True` adds possible names that too little evidence supports so far.
        """
        return self.current().nodes(
            type=known_type(type) or type, text=text, limit=limit, candidates=candidates
        )

    @in_valid_text
    def around(self, *names: str, depth: int = 1, limit: int = 40) -> Neighbourhood:
        """Return the nodes and facts around some nodes, up to a depth."""
        return self.current().around(names, depth=depth, limit=limit)

    @in_valid_text
    def history(self, name: str, predicate: str = "") -> list[Fact]:
        """Return every value ever held, with the turns between which it was valid."""
        return self.current().history(name, predicate_meant(predicate))

    @in_valid_text
    def why(self, name: str, predicate: str = "", other: str = "") -> list[Fact]:
        """Return facts with the sentences that support them."""
        return self.current().why(name, predicate_meant(predicate), other)

    def at(self, turn: int) -> Graph:
        """Return the graph as it was after a turn."""
        found = self.thread.legible.turn(turn)
        position = found.messages[0].position if turn else b""
        return self.current().at(position)

    def conflicts(self) -> list[Contradiction]:
        """Return contradictory facts, and which of each is in force."""
        return self.current().conflicts()

    def questions(self) -> list[Question]:
        """Return questions that only the user can settle; those answered by an override are left out."""
        return self.current().questions()

    def suggestions(self) -> list[MergeSuggestion]:
        """Return pairs of nodes that may be the same."""
        return self.current().suggestions()

    def numbers(self) -> Callable[[Ref], int]:
        """Return a function that gives the number of a turn from its first message; -1 if that is no longer in the history."""
        known: dict[Ref, int] = {}

        def number(opening: Ref) -> int:
            if opening not in known:
                known[opening] = self.thread.reading(lambda view: number_in(view, opening))
            return known[opening]

        return number

    # -- overrides -------------------------------------------------------------------------------------------

    @in_valid_text
    def set(self, node: str, predicate: str, value: str = "", *, other: str = "", type: str = "") -> Override:
        """Set an attribute, or the other node of a relation, whatever the text says."""
        if bool(value.strip()) == bool(other.strip()):
            raise InvalidInput(
                "give a value (of an attribute) or the other node (of a relation)", hint="one of the two"
            )
        predicate, value = self._predicate(predicate), value.strip()
        value = type_meant(value) if predicate == "type" else value
        if other and self.current().find(other) == self.current().node(node).id:
            raise InvalidInput(f"{node} and {other} are already the same node", hint="name another one")
        return self._write(Change.SET, node, predicate, value, other=other, type=type_meant(type))

    @in_valid_text
    def pin(self, node: str, predicate: str) -> Override:
        """Pin the current value: it stays in force, whatever later turns say."""
        predicate = self._predicate(predicate)
        facts = [f for f in self.why(node, predicate) if f.current]
        if not facts:
            raise NotFound(
                f"{node} has no {predicate} to pin",
                hint="run `backscroll graph show` to list its facts",
            )
        bodies = [self._body(Change.PIN, node, predicate, f.value, other=f.object) for f in facts]
        return self.write_changes(bodies, [revisions_of(f) for f in facts])[0]

    @in_valid_text
    def forbid(
        self, node: str, predicate: str, value: str | None = None, *, other: str | None = None
    ) -> Override:
        """Forbid a value, whatever the text says; without `value` and `other`, every value of the predicate."""
        if any(given is not None and not given.strip() for given in (value, other)):
            raise InvalidInput(
                "an empty value forbids nothing",
                hint="name the value or the node; leave both out to forbid every value of this kind",
            )
        return self._write(Change.FORBID, node, self._predicate(predicate), value or "", other=other or "")

    @in_valid_text
    def rename(self, node: str, name: str) -> Override:
        """Rename a node."""
        if not name.strip():
            raise InvalidInput("a node needs a name", hint="use a word or two")
        return self._write(Change.RENAME, node, value=name.strip())

    @in_valid_text
    def merge(self, first: str, second: str) -> Override:
        """Merge two nodes into one, which keeps the first one's name."""
        one, other = self.current().node(first).id, self.current().node(second).id
        if one == other:
            raise InvalidInput(f"{first} and {second} are already the same node", hint="nothing to merge")
        return self._write(Change.MERGE, one, other=other)

    @in_valid_text
    def split(self, node: str, turns: Sequence[int], name: str = "") -> Override:
        """Split a node: what these turns state belongs to a new one."""
        if not turns:
            raise InvalidInput("name the turns that speak of the other one", hint="their numbers")
        openings = [self._opening(n) for n in turns]
        spoken = self.current().node(node).interactions
        if silent := [n for n, opening in zip(turns, openings, strict=True) if opening not in spoken]:
            told = ", ".join(str(self.numbers()(opening)) for opening in spoken[:20])
            raise InvalidInput(
                f"turn {silent[0]} does not speak of {node}",
                hint=f"these do: {told}" if told else "no turn does",
            )
        body = self._body(Change.SPLIT, node, value=name.strip())
        copy = next_copy(self.thread.reading(lambda view: view.others()), body["node"])
        body |= {
            "turns": [str(o) for o in openings],
            "names": list(self.current().members(node)),
            "copy": copy,
        }
        return self.write_changes([body])[0]

    @in_valid_text
    def delete(self, node: str) -> Override:
        """Delete a node, whatever the text says."""
        return self._write(Change.DELETE, node)

    @in_valid_text
    def add(self, name: str, type: str = "", **attributes: str) -> Override:
        """Add a node, with attributes."""
        if not key_of(name):
            raise InvalidInput("a node needs a name", hint="use a word or two")
        given = [(self._predicate(p), v) for p, v in attributes.items()]
        changes = [(Change.ADD, "", name, type_meant(type)), *((Change.SET, p, v, "") for p, v in given)]
        return self.write_changes(
            [
                {"change": c.value, "node": key_of(name), "predicate": p, "value": v, "type": t}
                for c, p, v, t in changes
            ]
        )[0]

    def overrides(self) -> list[Override]:
        """Return the user's overrides in force, oldest first."""
        return overrides_in(self.thread.reading(lambda view: view.others()))

    def lift(self, override: Ref | int) -> None:
        """Lift an override; what the text states applies again."""
        seq = override if isinstance(override, int) else override.seq
        if not any(o.id is not None and o.id.seq == seq for o in self.overrides()):
            raise NotFound(f"change {seq} not found", hint="run `backscroll graph overrides` to list changes")
        self.thread.stroke(lambda pen: pen.write(Kind.LIFTED, head={"of": [seq]}))

    def _predicate(self, text: str) -> str:
        if found := predicate_meant(text):
            return found
        raise InvalidInput("name an attribute or a relation", hint="like mood or lives_in")

    def _opening(self, turn: int) -> Ref:
        found = self.thread.legible.turn(turn)
        return found.messages[0].id if turn else Ref(self.thread.id, 0)

    def _write(
        self, change: Change, node: str, predicate: str = "", value: str = "", **more: str
    ) -> Override:
        return self.write_changes([self._body(change, node, predicate, value, **more)])[0]

    def _body(
        self,
        change: Change,
        node: str,
        predicate: str = "",
        value: str = "",
        *,
        other: str = "",
        type: str = "",
    ) -> dict[str, Json]:
        """Return the body of the event that records an override."""
        graph = self.current()
        body: dict[str, Json] = {"change": change.value, "node": graph.node(node).id}
        if other:
            found = graph.find(other)
            if found is None:
                found = key_of(other)
                body["value"] = other
            body["object"] = found
        given = {"predicate": predicate, "value": value, "type": type}
        return body | {name: text for name, text in given.items() if text}

    def write_changes(
        self, bodies: Sequence[Mapping[str, Json]], said: Sequence[Sequence[Ref]] = ()
    ) -> list[Override]:
        """Record several overrides in one stroke; `said` lists, for each, the revisions whose text it repeats."""

        def work(pen: Pen) -> list[Event]:
            group: dict[str, Json] = {"group": pen.state.head + 1} if len(bodies) > 1 else {}
            heads = [group | messages_behind(pen.tx, refs) for refs in said] or [group] * len(bodies)
            return [
                pen.write(Kind.OVERRIDDEN, head=head or None, body=dict(body))
                for head, body in zip(heads, bodies, strict=True)
            ]

        return [override_of(event) for event in self.thread.stroke(work)]

    # -- world descriptions ----------------------------------------------------------------------------------

    @in_valid_text
    def tell_world(self, name: str, text: str | bytes) -> list[WorldEntry]:
        """Add a world description: a lorebook (SillyTavern, NovelAI), a character card (JSON, PNG or CHARX), Markdown or plain text.

        Entries of lorebooks and cards are added to prompts when the conversation matches one of their keys (`thread.lore`).
        """
        return tell_book(self.thread, name, text)

    def world(self) -> list[WorldEntry]:
        """Return the entries of the world descriptions in force."""
        return world_in(self.thread.reading(lambda view: view.others()))

    @in_valid_text
    def drop_world(self, name: str) -> None:
        """Remove a world description."""
        events = self.thread.reading(lambda view: view.others())
        found = told_as(events, name)
        if not found:
            raise NotFound(
                f"world description {name!r} not found", hint="run `backscroll graph world` to list them"
            )
        self.thread.stroke(lambda pen: pen.write(Kind.LIFTED, head={"of": found}))
