"""Locations of things: "the keys are in the blue drawer", "I left my passport on the kitchen table".

Owns plain statements that put a thing in a storage place (`locating.toml`); figures of speech name no drawer.
Refuses questions, denials and possibilities.
"""

from __future__ import annotations

from functools import cache

from backscroll.derive.extract.en.grammar.clauses import Mood
from backscroll.derive.extract.en.grammar.phrases import NounPhrase, phrase, phrase_before
from backscroll.derive.extract.en.grammar.words import table
from backscroll.derive.extract.en.message import MessageReading, NamedThing

_PLAIN = Mood()
_IS = frozenset("is are was were 's".split())
_REACH = 8  # words between a verb and its preposition


@cache
def _list(name: str) -> frozenset[str]:
    return frozenset(str(table("locating")[name]).split())


def locating_words() -> frozenset[str]:
    """Return prepositions of place."""
    return _list("prepositions")


def locates(r: MessageReading) -> None:
    """Read the things that a sentence locates."""
    line = r.line
    if line.asked:
        return
    for i, word in enumerate(line.words):
        if word.low not in _list("prepositions") or word.tag != "R":
            continue
        spot = phrase(line, i + 1)
        if spot is None or spot.head not in _list("en") or spot.pronoun or not spot.det:
            continue
        where = _where(r, spot)
        thing = _what(r, i)
        if where and thing is not None and thing.name != where:
            r.relation(NamedThing(thing.name, "thing"), "located_in", NamedThing(where, ""), _PLAIN, 0.85)


def _where(r: MessageReading, spot: NounPhrase) -> str:
    owner = r.owner(spot)
    if owner is not None and owner.pronoun:
        return spot.text
    return f"{owner.name}'s {spot.text}" if owner is not None else spot.text


def _what(r: MessageReading, at: int) -> NamedThing | None:
    """Return the thing that is located: before "is", or after "put"."""
    line = r.line
    back = at - 1
    while line.tag(back) == "V":
        back -= 1
    if line.low(back) in _IS and line.tag(back) in "A'":
        found = phrase_before(line, back)
    else:
        verb = next((k for k in range(back, max(-1, at - _REACH), -1) if line.low(k) in _list("put")), -1)
        if (
            verb < 0
            or line.tag(verb - 1) == "N"
            or line.low(verb - 1) in ("to", "could", "should", "would", "might", "may")
        ):
            return None
        found = phrase(line, verb + 1, at)
        if found is not None and found.end != at:
            return None
    if (
        found is None
        or found.pronoun
        or found.name is not None
        or not found.head
        or not (found.det or found.owner)
    ):
        return None
    if found.head in _list("never") or found.det in (
        "a",
        "an",
        "no",
        "this",
        "that",
        "some",
        "any",
        "every",
        "each",
    ):
        return None
    return r.refer(found, loose=True)
