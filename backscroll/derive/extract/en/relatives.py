"""Relatives and friends: "my brother Tom", "Tom's wife Ann", "Tom, my brother,", "my mother", "our kids, Max and Mia".

Owns words for relatives.
"""

from __future__ import annotations

from backscroll.derive.extract.en.grammar.clauses import Mood
from backscroll.derive.extract.en.grammar.phrases import NounPhrase, kin, phrase_before
from backscroll.derive.extract.en.grammar.words import EnglishWord, words
from backscroll.derive.extract.en.message import MessageReading, NamedThing
from backscroll.derive.extract.en.naming import PLURAL_KIN, same_person
from backscroll.vocab.assertion import Claim

_PLAIN = Mood()
_NOT_NOW = frozenset("be future become without broke divorced dumped ex former late".split())
_FAMILY = frozenset(
    "parent_of child_of sibling_of spouse_of partner_of relative_of boss_of roommate_of".split()
)
_UNSURE_KIN = frozenset({"partner", "date", "baby", "kid", "child", "folks"})


def relatives(r: MessageReading) -> None:
    """Read "my brother Tom", "Tom's wife Ann", "Tom, my brother,", "my mother" (who then has no name yet)."""
    line = r.line
    for i, word in enumerate(line.words):
        if word.low not in kin() or word.tag not in "wB":
            continue
        if word.text[0].isupper() and line.tag(i - 1) == "'":
            continue  # a title: "The Tiger's Daughter"
        name_follows = line.tag(i + 1) == "K"
        if word.low in PLURAL_KIN or (word.low.endswith("s") and word.low[:-1] in kin()):
            _several(r, i)
            continue
        found = phrase_before(line, i + 1) if not name_follows else _with_name(r, i)
        if found is None or (not found.det and not found.owner):
            continue
        owner = r.kin_owner(found)
        if owner is None:
            continue
        _relative(r, i, found, owner)


def _with_name(r: MessageReading, i: int) -> NounPhrase | None:
    found = phrase_before(r.line, i + 2)
    return found if found is not None and found.head == r.line.low(i) else None


def _relative(r: MessageReading, i: int, found: NounPhrase, owner: NamedThing) -> None:
    line = r.line
    low = line.low(i)
    relation = kin()[low]
    name: EnglishWord | None = found.name
    sure = 0.95
    if line.tag(i + 1) == "'" and line.tag(i + 2) in "wK#":
        name = None  # "my brother's car"
    if name is None and line.low(i + 1) == "," and line.tag(i + 2) == "K" and line.tag(i + 3) in ",.":
        name, sure = line.words[i + 2], 0.75 if line.low(i + 3) == "," else 0.5
        if r.said.addressee and same_person(name.text, r.said.addressee):
            return  # "sorry about your friend, Deb."
    if (
        name is None
        and line.low(found.start - 1) == ","
        and line.tag(found.start - 2) == "K"
        and line.tag(i + 1) in ",."
    ):
        name, sure = line.words[found.start - 2], 0.8
    if name is None and (name := _is(r, i, found)) is not None:
        sure = 0.85
    if "ex" in found.text.lower().split()[:1] or low.startswith("ex-"):
        if name is not None:
            r.add(Claim.END, NamedThing(name.text, "person"), relation, to=owner, sure=0.9)
        return
    if name is not None:
        if name.type in {"place", "organisation"}:
            return
        who = NamedThing(name.text, "person", sure=name.sure)
        r.meet(name.text)
        r.gender(name.text, low)
        r.relation(who, relation, owner, _PLAIN, sure)
        return
    if line.tag(found.start - 1) in "AVN'":
        return  # "is my brother": about another person
    if relation in _FAMILY and low not in _UNSURE_KIN and not owner.pronoun and _real(r, found):
        who = r.relative(owner.name, low)
        r.relation(who, relation, owner, _PLAIN, 0.8)
        r.people.append((r.number, line.words[found.start].start, who.name))


def _is(r: MessageReading, i: int, found: NounPhrase) -> EnglishWord | None:
    """Read "my brother is Tom.": a sentence that only states the name."""
    line = r.line
    alone = line.low(i + 1) in {"is", "was"} and line.tag(i + 2) == "K" and line.tag(i + 3) in ",."
    return line.words[i + 2] if alone and _real(r, found) else None


def _several(r: MessageReading, i: int) -> None:
    """Read "our two kids, Max and Mia"."""
    line = r.line
    found = phrase_before(line, i + 1)
    at = i + 1 + (line.low(i + 1) in {",", ":", "("})
    if found is None or line.tag(at) != "K" or line.low(at + 1) not in {"and", ",", "&"}:
        return
    owner = r.kin_owner(found)
    names: list[EnglishWord] = []
    while line.tag(at) == "K" and len(names) < 8:
        names.append(line.words[at])
        at += 1
        while line.low(at) in {",", "and", "&"} and (
            line.tag(at + 1) == "K" or line.low(at + 1) in {"and", "&"}
        ):
            at += 1
    if owner is None or len(names) < 2:
        return
    for name in names:
        r.meet(name.text)
        r.gender(name.text, line.low(i).removesuffix("s"))
        r.relation(NamedThing(name.text, "person"), kin()[line.low(i)], owner, _PLAIN, 0.85)


def _real(r: MessageReading, found: NounPhrase) -> bool:
    """Return False for relatives that are denied, wished for or asked about."""
    line = r.line
    start = max(0, found.start - 5)
    return (
        not any(
            line.tag(at) == "N" or line.low(at) in words("hedges", "blocks") or line.low(at) in _NOT_NOW
            for at in range(start, found.start)
        )
        and not line.asked
        and "future" not in found.text
    )
