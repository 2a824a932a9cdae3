"""Assertions: what a turn says about the world, one thing each, with the sentence it rests on.

Nouns only. An assertion speaks of things by the names that the text uses; who a name, a nickname or a pronoun means is settled
later, from what is live (`graph/naming/identity`), so that extraction can stay local to one turn. Before: `vocab/message`. After:
`derive/extract/assertions` makes them, `graph/fold` puts them together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import cast

from backscroll.vocab.ids import Ref, parse_ref
from backscroll.vocab.part import Json

#: A subject or object that begins with this is no name but a pronoun to be settled in the fold: "@she", "@he", "@they",
#: "@it", "@you", "@we" (whoever that is there). "I" is settled at once: the author of the message, or its role.
PRONOUN = "@"
#: Hint of a node whose type is only the likeliest, by its grammar: it counts little, and gives way to what a text shows.
LEANS = "leans"
#: Hint of a node that is a country, a city or a district: it has no opening hours.
REGION = "region"


class Claim(StrEnum):
    """What kind of thing an assertion says."""

    NODE = "node"  # there is something of a type with this name
    ALIAS = "alias"  # it has another name (`value`)
    ATTRIBUTE = "attribute"  # `predicate` of it is `value`
    RELATION = "relation"  # it stands in relation `predicate` to `object`
    END = "end"  # relation `predicate` to `object` (empty: to anybody), or attribute `predicate`, holds no longer


_CLAIMS = {claim.value: claim for claim in Claim}


@dataclass(frozen=True, slots=True)
class Assertion:
    """One thing that a turn says about the world."""

    kind: Claim
    subject: str  # a name as the text has it, or a pronoun (`PRONOUN`)
    predicate: str = ""  # of `derive/extract/ontology`, or free, in lower_case
    value: str = ""  # of an attribute, or the other name
    object: str = ""  # the other end of a relation: a name or a pronoun
    type: str = ""  # of the subject, where the text shows it: person, place … (`derive/extract/ontology`)
    object_type: str = ""
    quote: str = ""  # the sentence that it rests on, as it stands in the message
    source: Ref | None = None  # the revision that holds the sentence
    speaker: str = ""  # who says so: the author, or the role
    sure: float = 1.0  # how sure the extraction is; below 0.5: only a hint
    hint: str = ""  # for a pronoun: what narrows it ("female", "male", "thing", "place")

    def to_json(self) -> dict[str, Json]:
        """For the store; empty fields are left out."""
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
    """Back from the store; `home` is the revision it rests on, where the store does not name one."""
    # Spelt out because a graph is read from many thousands of them.
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
    """What one analysed turn says; `position` is its place in the history, by which claims are put in order."""

    opening: Ref  # the message that opens the turn; sequence 0: before the first
    position: bytes
    claims: tuple[Assertion, ...]


class TurnState(StrEnum):
    """How far the analysis of a turn has come."""

    WAITING = "waiting"  # too new: it may still be edited or made again
    DUE = "due"
    PROCESSING = "processing"  # somebody is at it now
    PROCESSED = "processed"
    OUTDATED = "outdated"  # analysed, then changed: due again
    SETTLED = "settled"  # analysed, and out of the window
    FAILED = "failed"  # a model could not; what rules found stands


@dataclass(frozen=True, slots=True)
class TurnStatus:
    """The state of one turn, for people."""

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
    affected: bool = False  # it speaks of something that an edited earlier turn no longer introduces


class Change(StrEnum):
    """What a person can do to the graph."""

    SET = "set"  # an attribute or relation has this value, whatever the text says
    PIN = "pin"  # what is known now stays, whatever the text says later
    FORBID = "forbid"  # this is not so, whatever the text says
    RENAME = "rename"
    MERGE = "merge"  # two nodes are one
    SPLIT = "split"  # one name stands for two; some turns speak of the other
    DELETE = "delete"  # no such node
    ADD = "add"  # there is such a node


@dataclass(frozen=True, slots=True)
class Override:
    """A person's own change to the graph. It hangs on the key of a name (`graph/naming/names`), which no re-analysis changes."""

    change: Change
    node: str  # key of a name
    predicate: str = ""
    value: str = ""  # new value, new name, or text for people
    object: str = ""  # key of the other node: of a relation, of a merge
    type: str = ""
    turns: tuple[Ref, ...] = ()  # openings of the turns that a split takes over
    id: Ref | None = None  # the event
    author: str = ""
    at: str = ""
    names: tuple[str, ...] = ()  # keys of other names of the node that a split takes along
    copy: int = 0  # of a split: the number in the key of the other node, which no other split had; 0: counted
