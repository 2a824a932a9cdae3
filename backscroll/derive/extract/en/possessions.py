"""Possessions and appositions: "she has two cats", "Ann, a forest elf, ...", "my dog Rex".

Owns sentences with "have", appositions and named possessions.
"""

from __future__ import annotations

from backscroll.derive.extract.en.classes import read_class, weaken_past_state
from backscroll.derive.extract.en.grammar.clauses import Mood, subject
from backscroll.derive.extract.en.grammar.phrases import (
    NounPhrase,
    kin,
    object_phrases,
    phrase,
    phrase_before,
)
from backscroll.derive.extract.en.grammar.words import EnglishWord, words
from backscroll.derive.extract.en.message import MessageReading, NamedThing
from backscroll.derive.extract.en.naming import kind_of


def having(r: MessageReading, i: int) -> bool:
    """Read a form of "have" at `i` that is not an auxiliary."""
    line = r.line
    low = line.low(i)
    if low not in {"have", "has", "had", "'ve", "got"}:
        return False
    at = i + 1
    if low == "got" and line.low(i - 1) not in {"'ve", "have", "has", "'s"}:
        return False
    if low in {"'ve", "have", "has"} and line.low(at) == "got":
        at += 1
    elif low == "'ve":
        return False
    if (
        line.tag(at) not in "DS#w"
        or (line.tag(at) == "w" and line.low(at).endswith("ed"))
        or line.low(at) in {"to", "been"}
    ):
        return False
    who, mood = subject(line, i - 1 if low == "got" else i)
    if not who or mood is None:
        return True
    line.subjects = who
    mood.denied = mood.denied or line.low(at) == "no"
    mood.past = mood.past or low == "had"
    for one in who:
        named = r.refer(one)
        if named is None:
            continue
        for found in object_phrases(line, at):
            _has(r, named, found, mood)
    return True


def _has(r: MessageReading, who: NamedThing, found: NounPhrase, mood: Mood) -> None:
    head, text = found.head, found.text
    mood = weaken_past_state(r, who, mood)
    if not head or found.pronoun or found.owner or found.det in _OTHERS:
        return
    if head in words("thing", "body"):
        if len(text.split()) > 1:
            r.attribute(who, "appearance", text, mood, 0.9)
    elif head in kin() and head not in {"client", "patient", "customer", "date", "student", "manager"}:
        _has_kin(r, who, found, mood)
    elif head in words("animal", "pets"):
        named = _by_name(r, found)
        pet = NamedThing(named.text if named is not None else text, "animal")
        if named is not None:
            r.meet(named.text, "animal")
            r.attribute(pet, "kind", head, Mood(), 0.95)
        r.relation(who, "has_pet", pet, mood, 0.9)
    elif head in words("health", "conditions"):
        r.attribute(who, "health", text, mood, 0.85)
    elif not (head in words("thing", "passing") or head in words("mood") or mood.past):
        _has_thing(r, who, found, mood)


_OTHERS = frozenset({"your", "his", "her", "their", "the", "that", "this"})


def _by_name(r: MessageReading, found: NounPhrase) -> EnglishWord | None:
    """Return the name that follows: "a dog named Rex", "a dog, Rex,"."""
    line = r.line
    if line.tag(found.end + 1) != "K":
        return None
    if line.low(found.end) in {"named", "called"} or (
        line.low(found.end) == "," and line.tag(found.end + 2) in ".,"
    ):
        return line.words[found.end + 1]
    return None


def _has_kin(r: MessageReading, who: NamedThing, found: NounPhrase, mood: Mood) -> None:
    named = _by_name(r, found)
    if named is not None:
        r.meet(named.text)
        r.relation(NamedThing(named.text, "person"), kin()[found.head], who, mood, 0.95)
        return
    none = found.det in {"no", "any"}
    if who.pronoun or (mood.denied and not found.number and not none):
        return
    count = found.number or ("" if found.det in {"a", "an"} else found.det)
    value = "no" if mood.denied else ("yes" if none or not count else count)
    r.attribute(who, f"has_{_singular(found.head)}", value, Mood(mood.sure), 0.85)


def _has_thing(r: MessageReading, who: NamedThing, found: NounPhrase, mood: Mood) -> None:
    if found.det not in {"a", "an", "my"} and not found.number:
        return
    if found.head not in words("thing", "ownable") and found.head not in words("thing", "vehicle"):
        return
    if who.pronoun or r.line.low(found.end) in {"of", "to", "for", "about"} or len(found.text.split()) > 3:
        return
    r.relation(who, "owns", NamedThing(found.text, "thing"), mood, 0.75)


def _singular(head: str) -> str:
    return {"children": "child", "kids": "child", "kid": "child", "wives": "wife", "families": "family"}.get(
        head
    ) or (head[:-1] if head.endswith("s") and not head.endswith("ss") else head)


def appositions(r: MessageReading) -> None:
    """Read "Ann, a forest elf, …", "the baker, Tom, …"."""
    line = r.line
    for i, word in enumerate(line.words):
        if word.tag != "K" or line.low(i + 1) != "," or line.low(i + 2) not in {"a", "an", "the"}:
            continue
        found = phrase(line, i + 2)
        if found is None or not found.head or line.tag(found.end) not in ",." or found.name is not None:
            continue
        if line.low(i - 1) == "," or line.low(found.end + 1) in {"and", "or"}:
            continue  # a list
        head = found.head
        if head in words("occupation") or head in words("race") or kind_of(head):
            read_class(
                r, NamedThing(word.text, word.type or r.turn.types.get(word.text, "")), found, Mood(0.9)
            )


def owned_names(r: MessageReading) -> None:
    """Read "my dog Rex", "Ann's cat Tom", "my dog, Rex,"."""
    line = r.line
    for i, word in enumerate(line.words):
        if word.tag != "w" or word.low not in words("animal", "pets"):
            continue
        at = i + 1 + (line.low(i + 1) == ",")
        if line.tag(at) != "K" or (at == i + 2 and line.tag(at + 1) not in ",."):
            continue
        found = phrase_before(line, i + 1)
        if found is None:
            continue
        owner = r.kin_owner(found)
        if owner is None:
            continue
        pet = NamedThing(line.words[at].text, "animal")
        r.meet(pet.name, "animal")
        r.attribute(pet, "kind", word.low, Mood(), 0.95)
        r.relation(owner, "has_pet", pet, Mood(), 0.95 if at == i + 1 else 0.8)
