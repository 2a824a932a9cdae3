"""Read back a user's changes to the graph: the overrides and world descriptions in force, and the names users give predicates and types.

Owns how such events are read, and how predicates and types are recognised: by name, or by the English and Chinese words for
them. An unknown type is rejected with the nearest known ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import cast

from backscroll.derive.extract.ontology import labels, types
from backscroll.errors import InvalidInput
from backscroll.graph.claims.predicates import normalize_predicate
from backscroll.graph.view import Fact, WorldEntry
from backscroll.record.acts import acts_in_force
from backscroll.record.chain import words_from_bytes
from backscroll.record.ports import Reader
from backscroll.vocab.assertion import Change, Override
from backscroll.vocab.event import Event, Kind
from backscroll.vocab.ids import Ref, parse_ref
from backscroll.vocab.part import Json

#: Names of types in the format of the design notes.
_ALSO = {"character": "person"}


def overrides_in(events: Iterable[Event]) -> list[Override]:
    """Return the user's overrides in force, oldest first."""
    return [override_of(e) for e in acts_in_force(events, {Kind.OVERRIDDEN}) if e.body is not None]


def override_of(event: Event) -> Override:
    """Return the override that an event records."""
    body = _body(event)
    turns: list[Json] = body.get("turns", [])
    return Override(
        Change(body["change"]),
        str(body["node"]),
        str(body.get("predicate", "")),
        str(body.get("value", "")),
        str(body.get("object", "")),
        str(body.get("type", "")),
        tuple(parse_ref(str(t)) for t in turns),
        event.id,
        event.actor,
        event.at,
        tuple(str(name) for name in cast("list[Json]", body.get("names", []))),
        int(body.get("copy", 0)),
    )


def next_copy(events: Iterable[Event], node: str) -> int:
    """Return a number for another split of a node that no split has had, lifted ones included."""
    bodies = [_body(e) for e in events if e.kind is Kind.OVERRIDDEN and e.body is not None]
    split = [b for b in bodies if b["change"] == Change.SPLIT and b["node"] == node]
    return max([1 + len(split), *(int(b.get("copy", 0)) for b in split)]) + 1


def world_in(events: Iterable[Event]) -> list[WorldEntry]:
    """Return the entries of the world descriptions in force; a later description replaces an earlier one of the same name."""
    from backscroll.graph.world.description import from_json  # start-up: only where a world is described

    books: dict[str, list[WorldEntry]] = {}
    for event in acts_in_force(events, {Kind.WORLD_TOLD}):
        body = _body(event)
        books.pop(str(body["name"]), None)
        books[str(body["name"])] = list(from_json(body["entries"]))
    return [entry for entries in books.values() for entry in entries]


def told_as(events: Iterable[Event], name: str) -> list[int]:
    """Return the numbers of the events in force that added a world description of this name."""
    return [e.seq for e in acts_in_force(events, {Kind.WORLD_TOLD}) if _body(e).get("name") == name]


def _body(event: Event) -> Mapping[str, Json]:
    return cast("Mapping[str, Json]", words_from_bytes(event.body or b"{}"))


def revisions_of(fact: Fact) -> list[Ref]:
    """Return the revisions that state a fact."""
    said = [e.assertion.source for e in fact.evidence if e.assertion is not None]
    return list(dict.fromkeys(ref for ref in said if ref is not None))


def messages_behind(reader: Reader, revisions: Sequence[Ref]) -> dict[str, Json]:
    """Return the head of an override: the messages whose text it repeats, so that forgetting them all erases it too."""
    events = [reader.event(revision) for revision in revisions]
    messages = dict.fromkeys(str(e.message) for e in events if e is not None and e.message is not None)
    return {"sources": list(messages)} if messages else {}


# -- names that users give things --------------------------------------------------------------------------------


def predicate_meant(text: str) -> str:
    """Return the predicate that the user means: `lives_in`, "lives in", 住在; an unknown word is returned as written."""
    plain = " ".join(text.replace("_", " ").split()).casefold()
    return labels().get(plain) or normalize_predicate(text)


@cache
def _type_labels() -> Mapping[str, str]:
    out = dict(_ALSO)
    for name, known in types().items():
        out |= {word.casefold(): name for word in (known.zh, known.en, name)}
    return out


def type_meant(text: str) -> str:
    """Return the type that the user means: `person`, 人物; empty for empty text. Raises on an unknown type."""
    found = known_type(text)
    if found is None:
        raise InvalidInput(f"{text!r} is not a node type", hint=f"known: {', '.join(types())}")
    return found


def known_type(text: str) -> str | None:
    """Return the known type that the user means; None if there is none."""
    plain = " ".join(text.split()).casefold()
    return "" if not plain else _type_labels().get(plain)
