"""Claims on their way into the graph, before and after their names are resolved; a turn with its claims.

Owns data types only: `graph/claims/turns` fills them, `graph/claims/index` finds them by name.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from backscroll.graph.tuning import SURE
from backscroll.vocab.assertion import PRONOUN, Assertion, Claim, TurnClaims
from backscroll.vocab.ids import Ref

#: The order of a claim: 0 for the text, position and opening of the turn, number in the turn; 1 for a user's override.
Order: TypeAlias = tuple[int, bytes, Ref, int]

#: Attributes that are names.
NAMING = frozenset({"name", "nickname", "full_name", "alias"})
#: The referent of a form of address, resolved over the whole conversation (`graph/naming/vocatives`).
CALLED = PRONOUN + "you"
#: The subject that the previous turn asked about, where this one gives a bare answer.
ASKED = PRONOUN + "asked"


class ClaimLine:
    """One claim with its names resolved, in the direction in which its predicate is folded."""

    __slots__ = ("claim", "flipped", "kind", "object", "opening", "order", "predicate", "subject")

    def __init__(
        self,
        order: Order,
        opening: Ref,
        claim: Assertion,
        kind: Claim,
        subject: str,
        predicate: str,
        object: str,  # noqa: A002 - the word of the vocabulary
        flipped: bool,
    ) -> None:
        self.order = order
        self.opening = opening
        self.claim = claim
        self.kind = kind
        self.subject = subject
        self.predicate = predicate
        self.object = object
        self.flipped = flipped

    @property
    def weak(self) -> bool:
        """True for a mere hint."""
        return self.claim.sure < SURE


@dataclass(slots=True)
class RawClaim:
    """One claim as extracted, before pronouns are resolved. A name is a key, a pronoun has its mark."""

    claim: Assertion
    kind: Claim
    subject: str
    predicate: str
    object: str
    flipped: bool
    other: str = ""  # another name of the subject, stated with it, or the value of an alias
    hinted: str = ""  # a name that a sentence only hints at: no mention, no tie


@dataclass(frozen=True, slots=True)
class MessageSpeaker:
    """One message of a turn: its speaker, the names it addresses, the other names it uses."""

    speaker: str
    calls: tuple[str, ...]
    uses: frozenset[str]
    owns: frozenset[str] = frozenset()  # names that the speaker claims


@dataclass(slots=True)
class TurnEntry:
    """One turn: its local claims, and (once pronouns are resolved) its lines."""

    turn: TurnClaims
    raws: list[RawClaim]
    pronouns: bool
    lines: list[ClaimLine] = field(default_factory=list["ClaimLine"])
    mentions: tuple[str, ...] = ()  # keys in order of their last mention
    speakers: tuple[str, ...] = ()
    echoes: list[tuple[str, str, int]] = field(default_factory=list[tuple[str, str, int]])
    joins: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])  # names that pronouns joined
    firsts: dict[str, int] = field(default_factory=dict[str, int])  # key: where in the turn it is first named
    asked: dict[str, str] = field(default_factory=dict[str, str])  # what it asks: predicate, subject
    unsettled: int = 0
    settled: bool = False  # whether the fields above are filled in
    proofs: dict[str, int] = field(default_factory=dict[str, int])  # evidence for each name
    voices: tuple[MessageSpeaker, ...] = ()
    doubts: tuple[tuple[str, str], ...] = ()  # names, and attributes whose default its sentences contradict

    @property
    def place(self) -> tuple[bytes, Ref]:
        """The sort key of turns."""
        return (self.turn.position, self.turn.opening)


def is_call(raw: RawClaim) -> bool:
    """Return True if a claim addresses a person by name: "Hey Ann!"."""
    return raw.kind is Claim.ALIAS and raw.subject == CALLED


def is_question(raw: RawClaim) -> bool:
    """Return True if a claim only states what a turn asks."""
    return raw.claim.kind is Claim.NODE and raw.claim.hint == "asked"
