"""Kinds of people and things: "a nurse", "a forest elf", "tall and shy", "a big fan of jazz".

Owns what a noun or an adjective after "is" says: occupation, race, gender, mood, health, character, looks.
"""

from __future__ import annotations

from backscroll.derive.extract.en.grammar.clauses import Mood
from backscroll.derive.extract.en.grammar.phrases import NounPhrase, ParsedSentence, object_phrases, phrase
from backscroll.derive.extract.en.grammar.words import words
from backscroll.derive.extract.en.message import MessageReading, NamedThing
from backscroll.derive.extract.en.naming import kind_of

_PEOPLE = frozenset(
    "man woman girl boy guy lady person gentleman teenager adult kid child female male human".split()
)
_GENDERS = {"man": "male", "boy": "male", "guy": "male", "gentleman": "male", "male": "male"} | dict.fromkeys(
    ("woman", "girl", "lady", "female"), "female"
)
_DEGREE = frozenset("huge big avid great massive total real".split())
_OF_ANYBODY = frozenset("married divorced engaged dead retired".split())
_PRAISE = frozenset(
    "good bad great lucky real true new nice big different better perfect wonderful amazing fantastic bit little lot".split()
)


def weaken_past_state(r: MessageReading, who: NamedThing, mood: Mood) -> Mood:
    """Lower the certainty of a past state: in narration it persists; of what people say of themselves it may be over."""
    if mood.past and not mood.denied:
        return Mood(min(mood.sure, 0.45 if who.name == r.me else 0.6), mood.denied, mood.over, True)
    return mood


def read_class(r: MessageReading, who: NamedThing, found: NounPhrase, mood: Mood) -> None:
    """Read the class of a person or thing."""
    line = r.line
    head, text = found.head, found.text
    if line.tag(found.end) == "'":
        return  # "a hiker's paradise"
    if found.det not in {"a", "an", "the"} and not found.number:
        return
    if who.name in {"@they", "@we"}:
        return
    lows = text.lower().split()
    if "old" in lows and lows[0].isalnum() and any(w.startswith("year") for w in lows[1:3]):
        r.attribute(who, "age", lows[0], mood, 0.9)
        text = " ".join(text.split()[lows.index("old") + 1 :])
        lows = text.lower().split()
    if head in {"fan", "lover"}:
        _fan(r, who, found, mood)
    elif head in words("occupation") or head.endswith(tuple(words("occupation", "suffix"))):
        if found.det != "the" or line.low(found.end) == "of" or len(lows) > 1:
            _occupation(r, who, found, text, mood)
    elif head in words("race"):
        r.attribute(who, "race", text, mood, 0.85)
    elif head in _PEOPLE:
        _person(r, who, found, text, mood)
    elif found.det in {"a", "an"} and not who.pronoun:
        _other(r, who, found, text, mood)


def _fan(r: MessageReading, who: NamedThing, found: NounPhrase, mood: Mood) -> None:
    """Read "a big fan of jazz", "a jazz fan"."""
    if r.line.low(found.end) == "of":
        for one in object_phrases(r.line, found.end + 1):
            to = r.refer(one, loose=True)
            if to is not None:
                r.relation(who, "likes", to, mood, 0.85)
        return
    liked = " ".join(w for w in found.text.split()[:-1] if w.lower() not in _DEGREE)
    if liked:
        r.relation(who, "likes", NamedThing(liked), mood, 0.85)


def _occupation(r: MessageReading, who: NamedThing, found: NounPhrase, text: str, mood: Mood) -> None:
    line = r.line
    r.attribute(who, "occupation", text, mood, 0.9)
    r.gender(who.name, found.head)
    workplace(r, who, found, mood)
    if line.low(found.end) == "and" and line.tag(found.end + 1) in "wD":
        more = phrase(line, found.end + 1)
        if more is not None and more.head in words("occupation") and line.tag(more.end) not in "AB":
            r.attribute(who, "occupation", more.text, mood, 0.85)


def _person(r: MessageReading, who: NamedThing, found: NounPhrase, text: str, mood: Mood) -> None:
    lows = text.lower().split()
    r.gender(who.name, found.head)
    if found.det == "the":
        return
    if found.head in _GENDERS:
        r.attribute(who, "gender", _GENDERS[found.head], mood, 0.7)
    if len(lows) > 1 and lows[0] not in _PRAISE:
        r.attribute(who, "description", text, mood, 0.75)


def _other(r: MessageReading, who: NamedThing, found: NounPhrase, text: str, mood: Mood) -> None:
    head = found.head
    kind = kind_of(head)
    if kind and kind != "person" and not who.type and text.lower().split()[0] not in _PRAISE:
        r.attribute(NamedThing(who.name, kind, who.hint, who.sure), "kind", text, mood, 0.85)
    elif (
        head in words("nationality") or head in words("nationality", "faith") or head in words("personality")
    ):
        adjective_word(r, who, head, text, mood)
    elif (
        head not in words("thing", "passing")
        and r.line.tag(found.end) not in "BK-/'"
        and r.line.low(found.end) not in {"of", "for", "to", "that"}
        and len(head) > 1
        and len(text.split()) <= 3
        and text.lower().split()[0] not in _PRAISE
        and who.type in {"person", "animal", ""}
    ):
        r.attribute(who, "description", text, mood, 0.65)


def workplace(r: MessageReading, who: NamedThing, found: NounPhrase, mood: Mood) -> None:
    """Read "a nurse at the hospital"."""
    line = r.line
    if line.low(found.end) in {"at", "for"}:
        where = phrase(line, found.end + 1)
        if (
            where is not None
            and not where.pronoun
            and (where.name is not None or where.head in words("thing", "place"))
        ):
            student = found.head in {"student", "freshman", "sophomore", "senior", "junior"}
            to = NamedThing(where.name.text if where.name else where.text, "organisation")
            r.relation(who, "studies_at" if student else "works_at", to, mood, 0.9)


def adjective(r: MessageReading, who: NamedThing, at: int, mood: Mood) -> None:
    """Read "is tall, kind and sick"."""
    line = r.line
    last = at
    while line.tag(last) in "wVB#," or line.low(last) == "and":
        if last - at > 8:
            break
        low = line.low(last)
        if (
            line.tag(last) == "w"
            and line.tag(last + 1) == "w"
            and line.low(last + 1) not in words("personality") | words("mood")
        ):
            _bare_noun(r, who, last, mood)
            break
        if _idiom(line, last):
            break
        if line.tag(last) in "wB":
            if (
                not adjective_word(r, who, low, line.words[last].text, mood)
                and last > at
                and line.tag(last) == "w"
            ):
                break
            if line.tag(last) == "B":
                break
        last += 1


def _idiom(line: ParsedSentence, at: int) -> bool:
    """Read "short for", "responsible for", "I'm afraid."."""
    low, following = line.low(at), line.low(at + 1)
    if low in {"missing", "lost"}:
        return line.tag(at + 1) not in ".,C"
    if low in {"afraid", "sorry"}:
        return line.tag(at + 1) == "."
    if low in words("mood") or low in words("health"):
        return False
    return low in words("personality") and following in {"for", "of", "on", "to", "with", "about", "as"}


def _bare_noun(r: MessageReading, who: NamedThing, at: int, mood: Mood) -> None:
    found = phrase(r.line, at)
    if (
        found is not None
        and found.head in words("occupation")
        and len(found.text.split()) <= 3
        and not mood.denied
    ):
        r.attribute(who, "occupation", found.text, mood, 0.6)


def adjective_word(r: MessageReading, who: NamedThing, low: str, text: str, mood: Mood) -> bool:
    """Read one adjective; return True if it states something."""
    mood = weaken_past_state(r, who, mood)
    if who.name in {"@they", "@we", "@you"} and low not in _OF_ANYBODY:
        return False
    if low in words("nationality"):
        r.attribute(who, "nationality", text, mood, 0.9)
    elif low in words("nationality", "faith"):
        r.attribute(who, "faith", text, mood, 0.9)
    elif low in words("personality", "marital"):
        r.attribute(who, "marital_status", low, mood, 0.9)
    elif low in words("personality", "status"):
        r.attribute(who, "status", low, mood, 0.85)
    elif low in words("health"):
        r.attribute(who, "health", low, mood, 0.85)
    elif low in words("mood"):
        if not mood.denied:
            r.attribute(who, "mood", low, mood, 0.8)
    elif low in words("personality", "appearance"):
        r.attribute(who, "appearance", low, mood, 0.8)
    elif low in words("personality"):
        r.attribute(who, "personality", low, mood, 0.8)
    elif low in words("colour") and who.type in {"thing", "animal"}:
        r.attribute(who, "colour", low, mood, 0.8)
    else:
        return False
    return True
