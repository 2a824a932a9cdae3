"""Read models of the graph: facts with their evidence, nodes, neighbourhoods, contradictions, questions.

`graph/fold` builds them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from backscroll.formats.lorebooks.rule import WakeRule
from backscroll.vocab.assertion import Assertion, Override
from backscroll.vocab.ids import Ref


class Rank(StrEnum):
    """The authority behind a fact, strongest first."""

    PERSON = "person"  # an override
    SAID = "said"  # a turn states it
    WORLD = "world"  # inferred from the world description
    DEFAULT = "default"  # inferred from the type


@dataclass(frozen=True, slots=True)
class Evidence:
    """Evidence of a fact: the sentence, its message, its speaker."""

    opening: Ref  # the turn
    assertion: Assertion | None = None
    override: Override | None = None
    note: str = ""  # of an inference: the entry or default it comes from


@dataclass(frozen=True, slots=True)
class Fact:
    """One attribute or relation of a node, with the time for which it holds and its evidence."""

    node: str  # id of the node it is about
    predicate: str
    value: str = ""  # of an attribute
    object: str = ""  # id of the other node, of a relation
    rank: Rank = Rank.SAID
    since: Ref | None = None  # opening of the turn in which it begins
    until: Ref | None = None  # opening of the turn that ended or superseded it; None: it holds
    evidence: tuple[Evidence, ...] = ()
    sure: float = 1.0
    pinned: bool = False
    contested: tuple[Evidence, ...] = ()  # if the text now contradicts the override
    derived: bool = False  # the inverse of a claim, not stated itself

    @property
    def current(self) -> bool:
        """True if it holds now (or at the time of the view)."""
        return self.until is None


@dataclass(frozen=True, slots=True)
class NodeView:
    """A node in its current state."""

    id: str  # stable: derived from the name by which it was first called
    readable: str  # `ellie_forest_elf`; may change
    name: str
    type: str
    aliases: tuple[str, ...] = ()
    attributes: tuple[Fact, ...] = ()  # current ones, one or more for each predicate; inferred ones included
    relations: tuple[Fact, ...] = ()  # current ones, seen from this node
    interactions: tuple[Ref, ...] = ()  # openings of the turns that mention it, oldest first
    first: Ref | None = None
    last: Ref | None = None
    overridden: bool = False

    def attribute(self, predicate: str) -> str:
        """Return the value of an attribute; empty if there is none."""
        return next((f.value for f in self.attributes if f.predicate == predicate), "")


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """Nodes around the requested ones, nearest first, and the relations between them."""

    nodes: tuple[NodeView, ...]
    relations: tuple[Fact, ...]
    left_out: int = 0  # neighbours beyond the limit


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two things that cannot both be true, and which of them is held."""

    node: str
    predicate: str
    held: Fact
    other: Fact
    kind: str  # superseded (later turn says otherwise), same turn, override, dead, excluded, circle


@dataclass(frozen=True, slots=True)
class MergeSuggestion:
    """Two nodes that may be the same."""

    first: str
    second: str
    score: float
    why: str


@dataclass(frozen=True, slots=True)
class Question:
    """A question that only the user can answer."""

    id: str  # stable: derived from its subject
    kind: str  # contradiction, merge, orphan, override, missing
    nodes: tuple[str, ...]
    text: str  # English; surfaces have the Chinese one by `kind`
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True)
class WorldEntry:
    """One entry of a world description: lorebook entry, section of a project description."""

    name: str
    keys: tuple[str, ...]  # names under which it is found
    text: str
    type: str = ""
    attributes: tuple[tuple[str, str], ...] = ()  # stated in the entry
    source: str = ""  # name of the book or file
    constant: bool = False  # holds for everything in the world
    enabled: bool = True
    also: tuple[
        tuple[str, str, str], ...
    ] = ()  # stated in passing: of whom (a name, a kind), predicate, value
    names: tuple[str, ...] = ()  # names of its subject; a key may be any word that activates the entry
    rule: WakeRule | None = None  # what puts its text into prompts; None: nothing does


@dataclass(frozen=True, slots=True)
class Options:
    """Settings of the fold."""

    preserve_user_edits: bool = True
    auto_infer: bool = True
    use_world: bool = True
    min_attributes: int = 3
    user: str = "user"  # the user's name if messages are unsigned
    character: str = ""  # the assistant's name in role play
    language: str = "en"
