"""Assertions from "be": "Ann is a nurse", "my eyes are blue", "he is from Rome".

Owns sentences with "be".
"""

from __future__ import annotations

from functools import cache

from backscroll.derive.extract.en.classes import adjective, read_class, weaken_past_state
from backscroll.derive.extract.en.grammar.clauses import Mood, any_more, subject
from backscroll.derive.extract.en.grammar.phrases import NounPhrase, kin, object_phrases, phrase
from backscroll.derive.extract.en.grammar.words import table, words
from backscroll.derive.extract.en.message import MessageReading, NamedThing
from backscroll.derive.extract.en.wishes import deeds, gerund
from backscroll.vocab.assertion import Claim

_BE = frozenset("am is are was were been 'm 're".split())
_VALUES = frozenset("skill allergic_to addicted_to proud_of jealous_of".split())
_POSSESSIVE = frozenset({"my", "your", "his", "her", "their", "our"})
_AT = frozenset("in at inside on".split())


@cache
def _own_words() -> dict[str, str]:
    """Return the attribute for a possession of a person ("my job is …")."""
    return {
        str(word): str(predicate)
        for predicate, listed in table()["own"].items()
        for word in str(listed).split()
    }


@cache
def _predicates() -> dict[str, str]:
    """Return the relation or attribute of a predicative phrase ("married to")."""
    return {
        word.replace("_", " "): str(predicate)
        for predicate, listed in table()["predicative"].items()
        for word in str(listed).split()
    }


def being(r: MessageReading, i: int) -> bool:
    """Read a form of "be" at `i`; return True if there was one."""
    line = r.line
    low = line.low(i)
    if low not in _BE and not (low == "'s" and _stands_for_is(r, i)):
        return False
    who, mood = subject(line, i)
    if not who or mood is None:
        return True
    if low in {"was", "were"}:
        mood.past = True
    line.subjects = who
    at = i + 1
    while line.tag(at) in "VN" and line.low(at) != "here":
        if line.tag(at) == "N":
            mood.denied = True
        at += 1
    if line.low(at) == "no" and line.low(at + 1) == "longer":
        mood.over, at = True, at + 2
    if any_more(line, at):
        mood.over = mood.denied
    for one in who:
        _is(r, one, at, mood)
    return True


def _stands_for_is(r: MessageReading, i: int) -> bool:
    line = r.line
    if line.tag(i) == "A":
        return line.tag(i - 1) == "P" and line.tag(i + 1) != "B"
    after = line.low(i + 1)
    return (
        line.tag(i + 1) in "DNVS"
        or after in {"from", "in", "at"}
        or any(after in words(room) for room in ("mood", "health", "personality"))
    )


def _is(r: MessageReading, one: NounPhrase, at: int, mood: Mood) -> None:
    line = r.line
    if one.pronoun in {"it", "everything", "something", "nothing", "anything"}:
        return
    if (one.det in _POSSESSIVE or one.owner) and _own(r, one, at, mood):
        return
    found = phrase(line, at)
    if (
        found is not None
        and found.det in _POSSESSIVE | ({"the"} if one.alone else set())
        and _favourite(r, one, found, mood)
    ):
        return
    if _predicative(r, one, at, mood):
        return
    who = r.refer(one)
    if who is None:
        return
    tag = line.tag(at)
    if one.pronoun == "you" and (found is None or found.head not in kin()):
        mood = Mood(mood.sure * 0.5, mood.denied, mood.over, mood.past)  # mostly praise
    if tag == "#" and _age(r, who, at, mood):
        return
    if tag == "R":
        _where(r, who, at, mood)
    elif found is not None and (found.det or found.owner):
        _noun(r, who, found, mood)
    elif tag in "wBVI#":
        adjective(r, who, at, mood)


def _age(r: MessageReading, who: NamedThing, at: int, mood: Mood) -> bool:
    line = r.line
    value = line.words[at].text
    end = at + 1
    if line.low(end) == "-" or (line.tag(end) == "#" and not line.words[at].text[0].isdigit()):
        value = line.piece(at, end + 1)
        end += 1
    years = line.low(end) in {"years", "year", "yrs"}
    if not years and not (line.tag(end) in ".," or line.low(end) in {"and", "but"}):
        return False
    if line.low(end) in {"months", "weeks", "days", "feet", "foot", "pm", "am", "o'clock", "%"} or (
        value.isdecimal() and not 0 < int(value[:9]) < 130
    ):
        return True
    plain = value.isdecimal() or not any(c.isdigit() for c in value)
    known = who.type in {"person", "animal"} or (years and not who.type)
    if plain and known and not (value == "one" and not years):
        r.attribute(who, "age", value, weaken_past_state(r, who, mood), 0.9 if years else 0.7)
    return True


def _own(r: MessageReading, one: NounPhrase, at: int, mood: Mood) -> bool:
    """Read "my favourite food is pizza", "her eyes are green", "his job is …"."""
    line = r.line
    owner = r.owner(one)
    if owner is None:
        return False
    if owner.name in {"@they", "@it"}:
        return True
    low = one.text.lower()
    if low.startswith(("favorite ", "favourite ")) or " favorite " in low or " favourite " in low:
        noun = one.head
        value = _value(r, at)
        if noun and value:
            r.attribute(owner, f"favourite_{_word(noun)}", value, weaken_past_state(r, owner, mood), 0.95)
        return True
    predicate = _own_words().get(one.head, "")
    if not predicate:
        return False
    if predicate == "birthday":
        value = line.piece(at + (line.tag(at) == "R"), _end_of(r, at + 1))
    else:
        value = _value(r, at)
    if not value or len(value.split()) > 6:
        return True
    if predicate == "appearance":
        value = f"{value} {one.head}" if any(w in words("colour") for w in value.lower().split()) else ""
    elif predicate == "nickname":
        r.add(Claim.ALIAS, owner, value=value, sure=0.9 * mood.sure)
        return True
    r.attribute(owner, predicate, value, weaken_past_state(r, owner, mood), 0.9)
    return True


def _end_of(r: MessageReading, at: int) -> int:
    while at < len(r.line.words) and r.line.tag(at) not in '.,C"W':
        at += 1
    return at


def _value(r: MessageReading, at: int) -> str:
    """Return the words of a complement: a noun phrase or an activity ("playing the piano")."""
    line = r.line
    found = phrase(line, at)
    if found is not None and not found.pronoun and (found.text and line.tag(at) != "B"):
        if found.det in _POSSESSIVE or found.owner:
            return ""
        return found.text
    if (
        line.tag(at) in "Bw"
        and line.low(at).endswith("ing")
        and line.low(at) not in words("qualities", "ing")
    ):
        after = phrase(line, at + 1)
        end = after.end if after is not None and not after.pronoun else at + 1
        return line.piece(at, end)
    return ""


def _favourite(r: MessageReading, one: NounPhrase, found: NounPhrase, mood: Mood) -> bool:
    """Read "horses are my favourite animal"."""
    low = found.text.lower()
    if not low.startswith(("favorite", "favourite")):
        return False
    owner = r.owner(found)
    if owner is not None and one.text and found.head not in {"favorite", "favourite"}:
        r.attribute(owner, f"favourite_{_word(found.head)}", one.text, mood, 0.95)
    return True


def _word(noun: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in noun)


def _predicative(r: MessageReading, one: NounPhrase, at: int, mood: Mood) -> bool:
    """Read "is married to", "is afraid of", "is in love with"."""
    line = r.line
    known = _predicates()
    for size in (3, 2, 1):
        key = " ".join(line.low(at + k) for k in range(size))
        if key in known:
            break
    else:
        return False
    predicate = known[key]
    who = r.refer(one)
    if who is None or not predicate:
        return True
    if gerund(line, at + size):
        if predicate in {"likes", "skill"} and not key.startswith("interested"):
            for text in deeds(line, at + size):
                r.attribute(who, "hobby" if predicate == "likes" else "skill", text, mood, 0.7)
        return True
    for found in object_phrases(line, at + size):
        if predicate in _VALUES:
            if found.text:
                r.attribute(who, predicate, found.text, mood, 0.9)
            continue
        if found.name is None and (
            found.head in words("thing", "passing") or found.det in {"this", "that", "these", "those"}
        ):
            continue
        to = r.refer(found, loose=predicate in {"likes", "dislikes", "fears"})
        if to is not None and (
            predicate not in {"partner_of", "spouse_of", "friend_of"} or to.type in {"person", ""}
        ):
            r.relation(who, predicate, to, weaken_past_state(r, who, mood), 0.9)
    return True


def _where(r: MessageReading, who: NamedThing, at: int, mood: Mood) -> None:
    line = r.line
    low = line.low(at)
    found = phrase(line, at + 1)
    if found is None or found.pronoun:
        return
    if low == "from":
        if found.name is not None or found.head in words("thing", "place"):
            r.relation(
                who,
                "comes_from",
                NamedThing(found.name.text if found.name else found.text, "place"),
                mood,
                0.9,
            )
    elif low in _AT:
        if (
            found.name is not None
            and not found.owner
            and (found.name.type == "place" or low == "in" or found.name.type == "")
        ):
            kind = found.name.type or ("place" if low == "in" else "")
            if kind == "person":
                return
            r.meet(found.name.text, kind)
            r.relation(
                who,
                "visited" if mood.past and who.name == r.me else "located_in",
                NamedThing(found.name.text, kind, sure=found.name.sure),
                mood,
                0.75 if mood.past else 0.85,
            )
        elif found.head in words("thing", "place") and found.det in {"the", "a", "an"} and low != "on":
            if line.low(found.end) == "for":
                return  # "in the market for"
            r.relation(who, "located_in", NamedThing(found.text, "place"), mood, 0.7)


def _noun(r: MessageReading, who: NamedThing, found: NounPhrase, mood: Mood) -> None:
    """Read "is a nurse", "is my brother", "is the leader of the guild"."""
    line = r.line
    head = found.head
    mood = weaken_past_state(r, who, mood)
    after = line.low(found.end)
    if (
        head in kin()
        and not (found.det in {"a", "an"} and head in words("occupation"))
        and _kin(r, who, found, mood)
    ):
        return
    if found.det in _POSSESSIVE or found.owner or who.type in {"place", "work"}:
        return
    if after == "of" and (head in words("leaders") or head == "member"):
        to = phrase(line, found.end + 1)
        named = r.refer(to, loose=True) if to is not None else None
        if named is not None:
            r.relation(who, "member_of" if head == "member" else "leader_of", named, mood, 0.9)
        return
    if not head:
        if found.name is not None and found.det in {"a", "an"} and line.low(found.end) in {"fan", "fans"}:
            r.relation(who, "likes", NamedThing(found.name.text), mood, 0.9)
        return
    read_class(r, who, found, mood)


def _kin(r: MessageReading, who: NamedThing, found: NounPhrase, mood: Mood) -> bool:
    line = r.line
    relation = kin()[found.head]
    owner = r.owner(found)
    if owner is None and line.low(found.end) == "of":
        other = phrase(line, found.end + 1)
        if other is not None and other.pronoun == "mine":
            owner = NamedThing(r.me, "person")
        elif other is not None:
            owner = r.refer(other)
    if owner is None:
        return False
    if found.text.lower().split()[:1] == ["ex"] or found.head.startswith("ex-"):
        r.add(Claim.END, who, relation, to=owner, sure=0.9 * mood.sure)
        return True
    if who.pronoun and owner.pronoun:
        return True
    who_typed = who if who.type else NamedThing(who.name, "person", who.hint, who.sure)
    r.gender(who.name, found.head)
    r.relation(who_typed, relation, owner, mood, 0.95)
    return True
