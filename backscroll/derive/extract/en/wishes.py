"""Likes, wishes, giving and parting: "I love hiking", "she gave Tom the ring", "they broke up".

Owns activities as the object of a verb, wishes, giving.
"""

from __future__ import annotations

from backscroll.derive.extract.en.grammar.clauses import Mood, subject
from backscroll.derive.extract.en.grammar.phrases import (
    NounPhrase,
    ParsedSentence,
    kin,
    object_phrases,
    phrase,
    sort_of,
)
from backscroll.derive.extract.en.grammar.words import words
from backscroll.derive.extract.en.message import MessageReading, NamedThing
from backscroll.vocab.assertion import Claim

_NO_HOBBY = frozenset(
    "say saying think thinking call calling believe know knowing see seeing hear hearing imagine point thank add adding have having keep hearing "
    "make making use using know get getting take taking do doing feel feeling find finding share sharing put let give giving try trying ask start".split()
)
_POSSESSIVE = frozenset({"my", "your", "his", "her", "their", "our", "its"})
_LASTING = (("thing", "ownable"), ("thing", "vehicle"), ("animal", "pets"), ("thing", "place"))
_NO_DEED = frozenset("clothing spring string wedding morning evening nothing ceiling painting".split())


def gerund(line: ParsedSentence, at: int) -> bool:
    """Return True for "hiking", and not "wedding"."""
    return (
        line.tag(at) in "Bw"
        and line.low(at).endswith("ing")
        and len(line.low(at)) > 5
        and line.low(at) not in _NO_DEED
        and line.low(at) not in words("qualities", "ing")
    )


def liking(r: MessageReading, predicate: str, at: int, who: tuple[NounPhrase, ...], mood: Mood) -> bool:
    """Read "loves to dance", "likes reading mysteries"."""
    line = r.line
    start = at + 1 if line.low(at) == "to" else at
    if line.tag(start) in ".,RDPSA" or mood.sure < 0.4 or line.low(start) in _NO_HOBBY:
        return True  # "I'd like to …" is a wish
    if who and line.low(who[0].start - 1) in {"that", "which", "who"}:
        return True  # "a trail that I like to ride"
    unwanted = predicate in {"hates", "dislikes"} or (mood.denied and not mood.over)
    told = mood if mood.over else Mood(mood.sure)
    for one in who:
        named = r.refer(one)
        if named is None or named.name in {"@you", "@we", "@they", "@it"}:
            continue
        if line.low(start) in {"eat", "eating", "drink", "drinking"} and not unwanted:
            for found in object_phrases(line, start + 1):
                to = r.refer(found, loose=True)
                if to is not None and not to.pronoun:
                    r.relation(named, "likes", NamedThing(to.name, "thing"), told, 0.85)
            continue
        for text in deeds(line, start):
            r.attribute(named, "avoids" if unwanted else "hobby", text, told, 0.85)
    return True


def deeds(line: ParsedSentence, start: int) -> list[str]:
    """Return each activity: "hiking and swimming" are two."""
    out: list[str] = []
    while len(out) < 4:
        text, end = read_activity(line, start)
        if not text:
            break
        out.append(text)
        if line.low(end) == "," and line.low(end + 1) == "and":
            end += 1
        if line.low(end) in {"and", "or", ","} and (
            gerund(line, end + 1)
            or (
                line.low(end) != ","
                and (line.tag(end + 1) == "B" or " " not in text)
                and line.tag(end + 1) in "Bw"
                and line.tag(end + 2) in ".,"
            )
        ):
            start = end + 1
            continue
        break
    return out


def read_activity(line: ParsedSentence, start: int) -> tuple[str, int]:
    """Return an activity, the verb with its complements, and where it ends."""
    end = start + 1
    if line.low(start) == "go" and line.low(end).endswith("ing"):
        start, end = end, end + 1
    if (
        line.low(end) in {"out", "up", "to", "in", "on", "with", "at", "for", "about"}
        and line.tag(end + 1) in "wKDSB"
        and line.low(end + 1) not in {"my", "your", "the"}
    ):
        after = phrase(line, end + 1)
        if (
            after is not None
            and not after.pronoun
            and line.low(end) in {"to", "with", "on", "in", "for", "about"}
        ):
            end = min(after.end, end + 5)
            return line.piece(start, end), end
    if line.tag(end) == "P" or (line.tag(end) == "R" and line.tag(end + 1) == "P"):
        return "", end  # "working on it"
    if line.low(end) in {"out", "up", "down", "off", "away", "around", "back"}:
        return line.piece(start, end + 1), end + 1
    after = phrase(line, end)
    if after is not None and not after.pronoun:
        end = min(after.end, end + 5)
    return line.piece(start, end), end


def wanting(r: MessageReading, i: int) -> None:
    """Read "wants to be a doctor", "wants a dog"."""
    line = r.line
    if line.tag(i - 1) in "DS'" or line.low(i - 1) in {"do", "does", "did", "you", "we"}:
        return
    who, mood = subject(line, i)
    if not who or mood is None or mood.past or mood.denied or mood.sure < 0.4:
        return
    line.subjects = who
    at = i + 1
    for one in who:
        named = r.refer(one)
        if named is None or named.pronoun:
            continue
        if line.low(at) == "to":
            text, _ = read_activity(line, at + 1)
            bare = line.tag(at + 2) == "R" and line.low(at + 1) in {"visit", "explore", "adopt", "save"}
            if text and line.low(at + 1) in words("goals") and len(text.split()) > 1 and not bare:
                r.attribute(named, "goal", text, mood, 0.75)
        elif line.low(i) in {"want", "wants"}:
            found = phrase(line, at)
            if (
                found is not None
                and found.head
                and found.det in {"a", "an"}
                and any(found.head in words(*room) for room in _LASTING)
                and line.low(found.end) not in {"to", "of", "that", "for"}
            ):
                r.relation(named, "wants", NamedThing(found.text, sort_of(found)), mood, 0.7)


def giving(r: MessageReading, i: int) -> None:
    """Read "gave the ring to Tom", "gave Tom the ring": it changes hands."""
    line = r.line
    who, mood = subject(line, i)
    if not who or mood is None or mood.denied or mood.sure < 0.5 or line.low(i) in {"give", "hands"}:
        return
    line.subjects = who
    giver = r.refer(who[0])
    if giver is not None and giver.name == "@it":
        return  # "it gave me hope"
    first = phrase(line, i + 1)
    if first is None or giver is None:
        return
    if line.low(first.end) == "to":
        thing, taker = first, phrase(line, first.end + 1)
    else:
        thing, taker = phrase(line, first.end), first
    if (
        thing is None
        or taker is None
        or thing.pronoun
        or not thing.head
        or thing.head in words("thing", "passing")
        or thing.head in words("thing", "body")
    ):
        return
    to = r.refer(taker)
    if (
        to is None
        or (taker.name is None and not taker.pronoun and taker.head not in kin())
        or thing.det in {"", "that", "this", "some"}
        or thing.head in {"hug", "kiss", "nod", "smile", "hand", "look", "wave", "wink", "sigh"}
    ):
        return
    what = NamedThing(thing.name.text if thing.name is not None else thing.text, "thing")
    r.relation(to, "owns", what, Mood(mood.sure), 0.8)
    r.add(Claim.END, giver, "owns", to=what, sure=0.7)


def parting(r: MessageReading, i: int) -> None:
    """Read "Ann and Tom broke up"."""
    line = r.line
    who, mood = subject(line, i)
    if len(who) == 2 and mood is not None and not mood.denied:
        one, other = r.refer(who[0]), r.refer(who[1])
        if one is not None and other is not None:
            r.add(Claim.END, one, "partner_of", to=other, sure=0.85 * mood.sure)


def is_lasting_taste(found: NounPhrase) -> bool:
    """Return True for lasting tastes ("the beach"), not for those of the moment ("the idea", "your tone")."""
    if found.det in _POSSESSIVE or found.owner:
        return any(
            found.head in listed
            for listed in (
                kin(),
                words("animal", "pets"),
                words("thing", "ownable"),
                words("thing", "vehicle"),
            )
        )
    if found.det != "the":
        return True
    rooms = ("place", "food", "drink", "music", "sport", "reading", "film")
    return (
        found.head.endswith("s")
        or any(found.head in words("thing", room) for room in rooms)
        or found.head in words("animal", "wild")
    )
