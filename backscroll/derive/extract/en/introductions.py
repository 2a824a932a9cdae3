"""Introductions and other names: "I'm Ann", "this is my brother Tom", "a dog named Rex", "everyone calls me Bob"."""

from __future__ import annotations

from backscroll.derive.extract.en.grammar.clauses import Mood
from backscroll.derive.extract.en.grammar.phrases import kin, phrase, phrase_before
from backscroll.derive.extract.en.grammar.words import EnglishWord, words
from backscroll.derive.extract.en.message import MessageReading, NamedThing
from backscroll.derive.extract.en.naming import PLURAL_KIN, kind_of
from backscroll.vocab.assertion import PRONOUN, Claim

_PLAIN = Mood()
_NAMED = frozenset("named called nicknamed dubbed".split())


def introductions(r: MessageReading) -> None:
    """Read "I'm Ann", "this is Ann", "my name is Ann", "call me Ann", "it's me, Ann"."""
    line = r.line
    for i, word in enumerate(line.words):
        low = word.low
        if (
            low in {"'m", "am"}
            and line.low(i - 1) == "i"
            and line.tag(i + 1) == "K"
            and line.tag(i + 2) in '.,"C*'
            and not line.asked
        ):
            _me(r, line.words[i + 1], 0.95 if line.words[i + 1].type in {"", "person"} else 0.3)
        elif (
            low in {"'re", "are"}
            and line.low(i - 1) == "you"
            and line.tag(i + 1) == "K"
            and line.tag(i + 2) in '.,"'
        ):
            _you_are(r, line.words[i + 1])
        elif (
            low in {"name", "names"}
            and line.tag(i + 1) in "A'"
            and line.tag(i - 2 if line.low(i - 1) in _REAL else i - 1) in "S'"
        ):
            _name_is(r, i)
        elif low == "by" and line.low(i - 1) in {"go", "goes"} and line.tag(i + 1) == "K":
            _goes_by(r, i)
        elif low in {"is", "'s"} and line.low(i - 1) in {"this", "here"} and not line.asked:
            _this_is(r, i + 1)
        elif (
            low in {"call", "calls", "called"}
            and (line.tag(i + 1) == "P" or line.low(i + 1) == "her")
            and line.tag(i + 2) == "K"
            and line.tag(i + 3) in '.,"C*V!?-'
        ):
            _called_me(r, i)
        elif low in _NAMED and line.tag(i + 1) == "K" and line.tag(i - 1) != "P":
            _read_naming(r, i)
        elif line.tag(i + 1) == "K" and (
            low in {"aka", "a.k.a."} or (low in {"as", "for"} and line.low(i - 1) in {"known", "short"})
        ):
            _known_as(r, i)
        elif low == "here" and i == 1 and line.tag(0) == "K" and line.tag(2) == ".":
            _me(r, line.words[0], 0.8)


_REAL = frozenset({"real", "full", "first", "true", "actual"})


def _goes_by(r: MessageReading, i: int) -> None:
    """Read "I go by Bo", "Katherine goes by Kit"."""
    found = phrase_before(r.line, i - 1)
    who = r.refer(found) if found is not None else None
    if who is not None and not r.line.asked:
        r.meet(r.line.words[i + 1].text)
        r.add(Claim.ALIAS, who, value=r.line.words[i + 1].text, sure=0.85)


def _me(r: MessageReading, name: EnglishWord, sure: float) -> None:
    r.turn.types.setdefault(name.text, "person")
    if name.text.lower() != r.me.lower():
        r.add(Claim.ALIAS, NamedThing(r.me, "person"), value=name.text, sure=sure)


def _you_are(r: MessageReading, name: EnglishWord) -> None:
    """Read "You're Ann, right?"."""
    you = r.pronoun("you")
    if you is not None and name.type in {"", "person"}:
        r.turn.types.setdefault(name.text, "person")
        r.add(
            Claim.ALIAS,
            you,
            value=name.text,
            sure=0.75 if not r.line.asked or r.line.low(0) == "you" else 0.6,
        )


def _name_is(r: MessageReading, i: int) -> None:
    line = r.line
    at = i + 2
    while line.tag(at) in "VN":
        if line.tag(at) == "N":
            return
        at += 1
    found = phrase_before(line, i + 1)
    if found is None or (line.asked and line.tag(found.start - 1) != "," and found.start > 1):
        return
    value = line.words[at] if at < len(line.words) else None
    if value is None or (value.tag not in {"K", "w"}):
        return
    small = value.tag == "w" and (value.text[0].islower() or len(value.text) < 2)
    if small and (
        line.tag(at + 1) not in ".,C" or any(w.text[0].isupper() for w in line.words if w.low != "i")
    ):
        return  # only where nothing is capitalised
    owner = r.owner(found)
    if owner is None:
        return
    if owner.name == r.me:
        r.turn.types.setdefault(value.text, "person")
    else:
        r.meet(value.text)
    r.add(Claim.ALIAS, owner, value=value.text, sure=0.95 if owner.name == r.me else 0.9)


def _this_is(r: MessageReading, at: int) -> None:
    line = r.line
    found = phrase(line, at)
    if found is None or found.name is None or line.tag(at) == "N":
        return
    if line.tag(found.end) not in '.,C"' or found.owner:
        return
    kind = found.name.type or ("person" if found.head in kin() or not found.head else "")
    if found.head and found.head not in kin():
        return
    r.meet(found.name.text, kind)
    r.node(NamedThing(found.name.text, kind), sure=0.9)
    if (
        line.low(at - 2) == "this"
        and not found.det
        and line.tag(found.end) == "."
        and line.low(0) in {"this", "hi", "hello", "hey"}
    ):
        r.add(Claim.ALIAS, NamedThing(PRONOUN + "they", "person"), value=found.name.text, sure=0.3)


def _called_me(r: MessageReading, i: int) -> None:
    line = r.line
    whom = r.pronoun(line.low(i + 1))
    name = line.words[i + 2]
    if whom is None or whom.name == PRONOUN + "it" or (line.asked and line.low(i) == "call"):
        return
    if line.tag(i - 1) == "A" and line.low(i - 1) in words("hedges", "modals") and line.low(i - 1) != "can":
        return
    r.meet(name.text)
    r.add(Claim.ALIAS, whom, value=name.text, sure=0.85)


def _read_naming(r: MessageReading, i: int) -> None:
    """Read "a dog named Rex", "my brother is called Tom"."""
    line = r.line
    at = i
    while line.tag(at - 1) in "AV":
        at -= 1
    found = phrase_before(line, at)
    name = line.words[i + 1]
    if found is None or not found.head or found.name is not None:
        return
    head = found.head
    kind = kind_of(head)
    r.meet(name.text, kind)
    who = NamedThing(name.text, kind)
    r.node(who)
    if head in kin() and head not in PLURAL_KIN:
        owner = r.owner(found)
        r.gender(name.text, head)
        if owner is not None:
            r.relation(who, kin()[head], owner, _PLAIN, 0.95)
    elif kind != "person":
        r.attribute(who, "kind", head, _PLAIN, 0.95)
    else:
        r.gender(name.text, head)
        if head in words("occupation"):
            r.attribute(who, "occupation", found.text, _PLAIN, 0.9)


def _known_as(r: MessageReading, i: int) -> None:
    """Read "Ann, also known as Red", "Ann, a.k.a. Red", "Liz, short for Elizabeth"."""
    line = r.line
    at = i - 1
    while at > 0 and line.tag(at) != "K" and (line.tag(at) in "AVB,C'" or line.low(at) in {"short", "known"}):
        at -= 1
    if line.tag(at) == "K" and at >= 0:
        one, other = line.words[at].text, line.words[i + 1].text
        r.add(Claim.ALIAS, NamedThing(one), value=other)
