"""Assertions: single statements of a turn about the world, each with its supporting sentence.

Types only. An assertion uses the names of the text; names, nicknames and pronouns are resolved later, from live data
(`graph/naming/identity`), so that extraction stays local to one turn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import cast

from backscroll.vocab.ids import Ref, parse_ref
from backscroll.vocab.part import Json

#: A subject or object that begins with this is a pronoun to be resolved in the fold: "@she", "@he", "@they",
#: "@it", "@you", "@we". "I" is resolved at once: the author of the message, or its role.
PRONOUN = "@"
#: Hint for a node type guessed from grammar: low weight, yields to evidence in a text.
LEANS = "leans"
#: Hint of a node that is a country, a city or a district: it has no opening hours.
REGION = "region"


class Claim(StrEnum):
    """The kind of an assertion."""

    NODE = "node"  # there is something of a type with this name
    ALIAS = "alias"  # it has another name (`value`)
    ATTRIBUTE = "attribute"  # `predicate` of it is `value`
    RELATION = "relation"  # it has relation `predicate` to `object`
    END = "end"  # relation `predicate` to `object` (empty: to anyone), or attribute `predicate`, no longer holds


_CLAIMS = {claim.value: claim for claim in Claim}


@dataclass(frozen=True, slots=True)
class Assertion:
    """One statement of a turn about the world."""

    kind: Claim
    subject: str  # a name as the text has it, or a pronoun (`PRONOUN`)
    predicate: str = ""  # of `derive/extract/ontology`, or free, in lower_case
    value: str = ""  # of an attribute, or the other name
    object: str = ""  # the other end of a relation: a name or a pronoun
    type: str = ""  # type of the subject, if the text shows it: person, place … (`derive/extract/ontology`)
    object_type: str = ""
    quote: str = ""  # the supporting sentence, verbatim
    source: Ref | None = None  # the revision that holds the sentence
    speaker: str = ""  # the speaker: the author, or the role
    sure: float = 1.0  # confidence of the extraction; below 0.5: only a hint
    hint: str = ""  # for a pronoun: what narrows it ("female", "male", "thing", "place")

    def to_json(self) -> dict[str, Json]:
        """Return the stored form, without empty fields."""
        out: dict[str, Json] = {"kind": self.kind.value, "subject": self.subject}
        for name in ("predicate", "value", "object", "type", "object_type", "quote", "speaker", "hint"):
            if text := getattr(self, name):
                out[name] = text
        if self.source is not None:
            out["source"] = str(self.source)
        if self.sure != 1.0:
            out["sure"] = self.sure
        return out


def assertion_from_json(data: Mapping[str, Json], home: Ref | None = None) -> Assertion:
    """Read an assertion from the store; `home` is its revision where the row does not name one."""
    # Written out for speed: a graph is read from many thousands of them.
    get = data.get
    source = cast("str | None", get("source"))
    return Assertion(
        _CLAIMS[data["kind"]],
        str(data["subject"]),
        str(get("predicate", "")),
        str(get("value", "")),
        str(get("object", "")),
        str(get("type", "")),
        str(get("object_type", "")),
        str(get("quote", "")),
        home if source is None else parse_ref(source),
        str(get("speaker", "")),
        float(get("sure", 1.0)),
        str(get("hint", "")),
    )


@dataclass(frozen=True, slots=True)
class TurnClaims:
    """The claims of one analysed turn; `position` is its place in the history, which orders claims."""

    opening: Ref  # the message that opens the turn; sequence 0: before the first
    position: bytes
    claims: tuple[Assertion, ...]


class TurnState(StrEnum):
    """The state of the analysis of a turn."""

    WAITING = "waiting"  # too new: it may still be edited or regenerated
    DUE = "due"
    PROCESSING = "processing"  # another worker is analysing it
    PROCESSED = "processed"
    OUTDATED = "outdated"  # analysed, then changed: due again
    SETTLED = "settled"  # analysed, and out of the window
    FAILED = "failed"  # the model failed; what rules found is kept


@dataclass(frozen=True, slots=True)
class TurnStatus:
    """The state of one turn, for display."""

    number: int
    id: str  # the uuid of the turn
    opening: Ref
    state: TurnState
    version: str
    processed_at: str | None = None
    by: str = ""  # rules, or the model
    why: str = ""  # of a failure
    tries: int = 0
    in_window: bool = False
    affected: bool = False  # it refers to something that an edited earlier turn no longer introduces


class Change(StrEnum):
    """A manual change to the graph."""

    SET = "set"  # set an attribute or relation, whatever the text says
    PIN = "pin"  # keep the current facts, whatever the text says later
    FORBID = "forbid"  # forbid a fact, whatever the text says
    RENAME = "rename"
    MERGE = "merge"  # two nodes are one
    SPLIT = "split"  # one name means two things; some turns mean the other
    DELETE = "delete"  # no such node
    ADD = "add"  # there is such a node


@dataclass(frozen=True, slots=True)
class Override:
    """A user's manual change to the graph. It is tied to the key of a name (`graph/claims/names`), which re-analysis never
    changes."""

    change: Change
    node: str  # key of a name
    predicate: str = ""
    value: str = ""  # new value, new name, or text for display
    object: str = ""  # key of the other node: of a relation, of a merge
    type: str = ""
    turns: tuple[Ref, ...] = ()  # openings of the turns that a split takes over
    id: Ref | None = None  # the event
    author: str = ""
    at: str = ""
    names: tuple[str, ...] = ()  # keys of other names of the node that a split takes along
    copy: int = 0  # of a split: the number in the key of the other node, which no other split had; 0: counted
