"""Assertions from verbs: "Ann lives in Rome", "he gave the ring to Tom", "I love hiking", "they broke up".

Owns the table of verbs (`extract_en_verbs.toml`), giving, likes and wishes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from backscroll.derive.extract.en.classes import workplace
from backscroll.derive.extract.en.grammar.clauses import Mood, any_more, subject
from backscroll.derive.extract.en.grammar.phrases import (
    NounPhrase,
    ParsedSentence,
    kin,
    object_phrases,
    phrase,
    sort_of,
)
from backscroll.derive.extract.en.grammar.words import table, words
from backscroll.derive.extract.en.message import MessageReading, NamedThing
from backscroll.derive.extract.en.wishes import gerund, giving, is_lasting_taste, liking, parting, wanting
from backscroll.vocab.assertion import Claim

_LIKING = frozenset({"likes", "loves", "hates", "dislikes"})
_THINGS = frozenset({"place", "thing", "organisation", "work"})
_OPPOSITE = {"likes": "dislikes", "loves": "dislikes"}
_POINTING = frozenset({"this", "that", "these", "those", "every", "any", "such", "another", "each"})
_HELPING = frozenset("do does did n't not never will would can could should may might must 'll 'd".split())
_POSTS = frozenset({"job", "position", "post"})
_GROUPS = frozenset({"army", "navy", "guild", "choir", "party"})
_POSSESSIVE = frozenset({"my", "your", "his", "her", "their", "our", "its"})


@dataclass(frozen=True, slots=True)
class Verb:
    """The claim that a verb makes about its subject and object."""

    forms: frozenset[str]
    pasts: frozenset[str]
    after: tuple[tuple[str, ...], ...]
    predicate: str
    object: str = ""
    value: bool = False
    end: bool = False
    past: str = "was"
    proper: bool = False
    named: bool = False
    person: str | None = None  # predicate where the object is a person; "": none
    only: frozenset[str] = frozenset()
    tense: str = ""  # only in this tense
    fixed: str = ""
    sure: float = 1.0


@cache
def verbs() -> dict[str, tuple[Verb, ...]]:
    """Return the verbs by each of their forms."""
    out: dict[str, list[Verb]] = {}
    for row in table("extract_en_verbs")["verb"]:
        present, _, past = str(row["words"]).partition("|")
        only = str(row.get("only", ""))
        verb = Verb(
            frozenset(present.split()) if "only_form" not in row else frozenset({str(row["only_form"])}),
            frozenset(past.split()),
            tuple(tuple(w.split("_")) for w in str(row.get("after", "")).split()),
            str(row["is"]),
            str(row.get("object", "")),
            bool(row.get("value")),
            bool(row.get("end")),
            str(row.get("past", "was")),
            bool(row.get("proper")),
            bool(row.get("named")),
            None if "person" not in row else str(row["person"]),
            _look_up_words(only) if only.startswith("@") else frozenset(only.split()),
            str(row.get("tense", "")),
            str(row.get("fixed", "")),
            float(row.get("sure", 1.0)),
        )
        for word in sorted(verb.forms | verb.pasts):
            out.setdefault(word, []).append(verb)
    return {word: tuple(found) for word, found in out.items()}


def _look_up_words(name: str) -> frozenset[str]:
    return {
        "@pets": words("animal", "pets"),
        "@vehicle": words("thing", "vehicle"),
        "@languages": words("nationality"),
        "@ownable": words("thing", "ownable") | words("thing", "vehicle") | words("animal", "pets"),
    }[name]


_GIVING = frozenset("gave gives give handed hands".split())
_WANTING = frozenset("want wants hope hopes plan plans dream dreams planning hoping".split())


@cache
def doing_words() -> frozenset[str]:
    """Return every word that `doing` reads."""
    return frozenset(verbs()) | _GIVING | _WANTING | {"broke", "split", "got", "turned"}


def doing(r: MessageReading, i: int) -> None:
    """Read the verb at `i`."""
    line = r.line
    low = line.low(i)
    if low in _GIVING:
        giving(r, i)
        return
    if low == "turned" and line.tag(i + 1) == "#":
        _read_age(r, i)
        return
    if low in _WANTING:
        wanting(r, i)
        return
    if low in {"broke", "split"} and line.low(i + 1) == "up" and line.low(i + 2) != "with":
        parting(r, i)
        return
    found = verbs().get(low)
    if found is None or line.tag(i - 1) in "DS'" or (low == "like" and _compares(line, i)):
        return
    who: tuple[NounPhrase, ...] | None = None
    mood: Mood | None = None
    for verb in found:
        at = _follows(line, i, verb)
        if at < 0:
            continue
        if who is None:
            who, mood = subject(line, i)
            if who:
                line.subjects = who
        if not who or mood is None:
            return
        if _verb(r, i, verb, at, who, mood):
            return


def _compares(line: ParsedSentence, i: int) -> bool:
    """Return True if "like" is not a verb."""
    at = i - 1
    while line.tag(at) == "V":
        at -= 1
    return line.tag(at) in ",.BRC#" and line.low(at) not in {"and", "but"}


def _read_age(r: MessageReading, i: int) -> None:
    """Read "I turned 30 yesterday"."""
    line = r.line
    value = line.words[i + 1].text
    who, mood = subject(line, i)
    if mood is None or not (value.isdecimal() and 0 < int(value[:4]) < 130) or line.tag(i + 2) not in ".,CV":
        return
    for one in who:
        named = r.refer(one)
        if named is not None and named.type in {"person", ""}:
            r.attribute(named, "age", value, Mood(mood.sure), 0.85)


def _follows(line: ParsedSentence, i: int, verb: Verb) -> int:
    """Return where the object begins; -1 if the verb does not apply there."""
    at = i + 1
    while line.tag(at) == "V" and line.low(at) not in {"there", "here"}:
        at += 1
    if not verb.after:
        return at
    for needed in verb.after:
        if all(line.low(at + k) == word for k, word in enumerate(needed)):
            return at + len(needed)
    return -1


def _verb(r: MessageReading, i: int, verb: Verb, at: int, who: tuple[NounPhrase, ...], told: Mood) -> bool:
    """Return True if the verb makes a statement here."""
    line = r.line
    low = line.low(i)
    is_past = low in verb.pasts and (low not in verb.forms or line.low(i - 1) not in {"do", "does", "to"})
    mood = Mood(told.sure * verb.sure, told.denied, told.over, told.past or is_past)
    perfect = line.low(i - 1) in {"have", "has", "'ve"} or line.low(i - 2) in {"have", "has", "'ve"}
    if (verb.tense == "past" and not (is_past or perfect)) or (verb.tense == "present" and mood.past):
        return False
    if low.endswith("ing") and not _progressive(line, i):
        return False
    if (
        low in verb.pasts
        and line.low(i - 1) in {"is", "are", "was", "were", "be", "been", "'re", "'m"}
        and low != "born"
        and not low.endswith("ing")
    ):
        return _passive(r, i, verb, who, mood)
    if mood.denied and (verb.tense == "past" or verb.end):
        return True
    if not _agrees(line, i, low in verb.pasts, who):
        return True
    if any_more(line, at):
        mood.over = mood.over or mood.denied
    if is_past and verb.past == "was" and not perfect:
        mood = _weaken_past(who, mood)
    if verb.fixed:
        return _read_fixed_value(r, verb, who, mood)
    if verb.predicate in _LIKING and (line.low(at) == "to" or gerund(line, at)):
        return liking(r, verb.predicate, at, who, mood)
    done = False
    for found in object_phrases(line, at):
        if not verb.after and (line.tag(found.end) == "A" or (found.pronoun and line.tag(found.end) == "B")):
            return True  # "I know you are busy": a clause
        done = _object(r, verb, found, who, mood) or done
    return done


def _passive(r: MessageReading, i: int, verb: Verb, who: tuple[NounPhrase, ...], mood: Mood) -> bool:
    """Read "was killed by Ann"."""
    if r.line.low(i + 1) != "by" or verb.after or verb.value or mood.denied:
        return False
    for agent in object_phrases(r.line, i + 2):
        named = r.refer(agent)
        if named is not None and not named.pronoun:
            for one in who:
                _between(r, verb, one, named, mood)
    return True


def _agrees(line: ParsedSentence, i: int, past: bool, who: tuple[NounPhrase, ...]) -> bool:
    """Check agreement: "Tom likes", never "Tom like", which is not a verb."""
    low = line.low(i)
    if past or low.endswith(("s", "ing")) or len(who) > 1 or _HELPING & {line.low(i - 1), line.low(i - 2)}:
        return True
    return all(one.pronoun not in {"he", "she", "it"} and one.name is None for one in who)


def _progressive(line: ParsedSentence, i: int) -> bool:
    """Check for "is working", and not "keen on working"."""
    at = i - 1
    while line.tag(at) in "VN":
        at -= 1
    return line.tag(at) in "A'"


def _weaken_past(who: tuple[NounPhrase, ...], mood: Mood) -> Mood:
    mine = any(one.pronoun == "i" for one in who)
    return Mood(min(mood.sure, 0.4 if mine else 0.55), mood.denied, mood.over, True)


def _read_fixed_value(r: MessageReading, verb: Verb, who: tuple[NounPhrase, ...], mood: Mood) -> bool:
    for one in who:
        named = r.refer(one)
        if (
            named is not None
            and named.name not in {"@it", "@they", "@we"}
            and (named.name != r.me or verb.fixed != "dead")
        ):
            r.attribute(named, verb.predicate, verb.fixed, mood, 0.9)
    return True


def _object(
    r: MessageReading, verb: Verb, found: NounPhrase, who: tuple[NounPhrase, ...], mood: Mood
) -> bool:
    if verb.only and not (set(found.text.lower().split()) & verb.only or found.head in verb.only):
        return False
    if found.name is None and not found.head and not found.pronoun:
        return False
    done = False
    for one in who:
        subject_is = r.refer(one, loose=verb.predicate == "owned_by")
        if subject_is is None or (subject_is.name in {"@it", "@they"} and verb.predicate != "located_in"):
            continue
        done = _between(r, verb, found, subject_is, mood) or done
    return done


def _between(r: MessageReading, verb: Verb, found: NounPhrase, who: NamedThing, mood: Mood) -> bool:
    person = _is_person(r, found)
    if verb.end and found.head in _POSTS:
        _read_leaving(r, verb, found, who, mood)
        return True
    if verb.value and (verb.person is None or not person):
        text = _plain(found)
        if text and found.det not in _POSSESSIVE - {"my"} and found.head not in words("thing", "passing"):
            r.attribute(who, verb.predicate, text, mood, 0.85)
            if verb.predicate == "occupation":
                workplace(r, who, found, mood)
        return True
    to = r.refer(found, loose=not verb.named)
    if to is None or _says_nothing(r, verb, found, to):
        return True
    person = person or (bool(found.pronoun) and to.type == "person")
    fitted = _fit_object(verb, found, to, person)
    predicate = verb.person if person and verb.person is not None else verb.predicate
    if fitted is None or not predicate:
        return True
    if found.name is not None and verb.object == "place" and fitted.type == "place":
        r.meet(found.name.text, "place")
    _keep(r, verb, who, predicate, fitted, mood)
    return True


def _somewhere(found: NounPhrase) -> bool:
    return (
        found.head not in words("thing", "music")
        and found.head not in words("never_names")
        and not found.head.isdecimal()
    )


def _says_nothing(r: MessageReading, verb: Verb, found: NounPhrase, to: NamedThing) -> bool:
    """Return True for objects not worth keeping: pronouns for things, passing matters, clauses."""
    if to.name in {"@it", "@they", "@we"} or (found.pronoun and verb.object in _THINGS):
        return True
    if verb.proper and not _definite(verb, found, to):
        return True
    if found.pronoun:
        return False
    if found.name is not None:
        return (
            not found.det and not verb.after and r.line.tag(found.end) == "w"
        )  # "I know Canton law requires"
    liking = verb.predicate in _LIKING
    if found.det in _POINTING or (
        found.head in words("thing", "passing") and not (liking and " " in found.text)
    ):
        return True
    if verb.predicate in {"comes_from", "born_in"} and not _somewhere(found):
        return True  # "grew up on country music", "born in March"
    return liking and not is_lasting_taste(found)


def _read_leaving(r: MessageReading, verb: Verb, found: NounPhrase, who: NamedThing, mood: Mood) -> None:
    """Read "quit my job at Siemens"."""
    line = r.line
    at = phrase(line, found.end + 1) if line.low(found.end) in {"at", "with", "in"} else None
    if at is not None and at.name is not None:
        r.add(
            Claim.END, who, verb.predicate, to=NamedThing(at.name.text, "organisation"), sure=0.9 * mood.sure
        )
    elif found.det in {"my", "his", "her", "the"}:
        r.add(Claim.END, who, verb.predicate, sure=0.8 * mood.sure)


def _fit_object(verb: Verb, found: NounPhrase, to: NamedThing, person: bool) -> NamedThing | None:
    """Return the object with its type; None if the verb cannot have such an object."""
    if person:
        if verb.person is None and verb.object in _THINGS and found.name is None:
            return None
        return NamedThing(to.name, "person", to.hint, to.sure)
    if not verb.object:
        plain = found.name is None and not found.pronoun
        return NamedThing(to.name, to.type or (sort_of(found) if plain else ""), to.hint, to.sure)
    if verb.object == "person":
        return to if to.type in {"", "person"} else None
    if to.type == "person":
        return None
    return NamedThing(to.name, verb.object if to.type in {"", "thing"} else to.type, to.hint, to.sure)


def _keep(r: MessageReading, verb: Verb, who: NamedThing, predicate: str, to: NamedThing, mood: Mood) -> None:
    if verb.end:
        r.add(Claim.END, who, predicate, to=to, sure=0.9 * mood.sure)
    elif mood.denied and not mood.over and predicate in _OPPOSITE and to.type != "person":
        r.relation(who, _OPPOSITE[predicate], to, Mood(mood.sure), 0.85)
    else:
        r.relation(who, predicate, to, mood, 0.9 if verb.proper or to.type else 0.8)


def _definite(verb: Verb, found: NounPhrase, to: NamedThing) -> bool:
    if found.name is not None or found.pronoun:
        return True
    if verb.object == "place":
        return found.head in words("thing", "place") and found.det not in _POSSESSIVE
    if verb.object == "group":
        return found.head in words("kinds", "organisation") or found.head in _GROUPS
    return to.type == "person" or found.det in {"the", "my"} or bool(found.owner)


def _is_person(r: MessageReading, found: NounPhrase) -> bool:
    if found.pronoun:
        return found.pronoun not in {"it", "this", "that", "something", "everything", "anything", "nothing"}
    if found.name is not None:
        return (
            found.name.type == "person"
            or r.turn.types.get(found.name.text) == "person"
            or found.head in kin()
        )
    return found.head in kin() and bool(found.owner or found.det in _POSSESSIVE)


def _plain(found: NounPhrase) -> str:
    return found.name.text if found.name is not None and not found.head else found.text
