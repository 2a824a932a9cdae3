"""What verbs say: "Ann lives in Rome", "he gave the ring to Tom", "I love hiking", "they broke up".

Owns the table of verbs (`extract_en_verbs.toml`), giving, and what somebody likes or wants to do. Before: `extract_en_reading`.
After: `extract_en` runs these over every sentence.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from backscroll.derive.extract_en_phrases import Line, Mood, Phrase, kin, phrase, subject
from backscroll.derive.extract_en_reading import Named, Reading
from backscroll.derive.extract_en_words import table, words
from backscroll.vocab.assertion import Claim

_LIKING = frozenset({"likes", "loves", "hates", "dislikes"})
_OPPOSITE = {"likes": "dislikes", "loves": "dislikes"}
_POSSESSIVE = frozenset({"my", "your", "his", "her", "their", "our", "its"})


@dataclass(frozen=True, slots=True)
class Verb:
    """What a verb makes of its subject and object."""

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
    """Word -> the verbs that it is a form of."""
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
            _listed(only) if only.startswith("@") else frozenset(only.split()),
            str(row.get("tense", "")),
            str(row.get("fixed", "")),
            float(row.get("sure", 1.0)),
        )
        for word in sorted(verb.forms | verb.pasts):
            out.setdefault(word, []).append(verb)
    return {word: tuple(found) for word, found in out.items()}


def _listed(name: str) -> frozenset[str]:
    return {
        "@pets": words("animal", "pets"),
        "@vehicle": words("thing", "vehicle"),
        "@languages": words("nationality"),
    }[name]


def object_phrases(line: Line, at: int) -> list[Phrase]:
    """The noun phrase at `at`, and those joined to it by "and"."""
    out: list[Phrase] = []
    while len(out) < 5:
        while line.tag(at) == "V":
            at += 1
        found = phrase(line, at)
        if found is None or (found.pronoun and out):
            break
        out.append(found)
        at = found.end
        if line.low(at) == "," and line.tag(at + 1) in "wKDS#" and _goes_on(line, at + 1):
            at += 1
        elif line.low(at) in {"and", "or"}:
            at += 1
        elif line.low(at) == "," and line.low(at + 1) in {"and", "or"}:
            at += 2
        else:
            break
        if line.tag(at + 1) in "BA" and line.tag(at) != "D":
            break  # "… and Tom went": another clause
    return out


def _goes_on(line: Line, at: int) -> bool:
    """True where a comma is followed by more of a list."""
    found = phrase(line, at)
    return found is not None and (
        line.low(found.end) in {"and", "or"}
        or (line.low(found.end) == "," and line.tag(found.end + 1) in "wKDS#C")
    )


def doing(r: Reading, i: int) -> None:
    """The verb at `i`."""
    line = r.line
    low = line.low(i)
    if low in {"gave", "gives", "give", "handed", "hands"}:
        _giving(r, i)
        return
    if low in {"want", "wants", "hope", "hopes", "plan", "plans", "dream", "dreams", "planning", "hoping"}:
        _wanting(r, i)
        return
    if low in {"broke", "split"} and line.low(i + 1) == "up" and line.low(i + 2) != "with":
        _parting(r, i)
        return
    found = verbs().get(low)
    if (
        found is None
        or line.tag(i - 1) in "DS'"
        or (low == "like" and line.tag(i - 1) in ",.BRC" and line.low(i - 1) not in {"and", "but"})
    ):
        return
    who: tuple[Phrase, ...] | None = None
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


def _follows(line: Line, i: int, verb: Verb) -> int:
    """Where the object begins; -1 where the verb is not used so."""
    at = i + 1
    while line.tag(at) == "V" and line.low(at) not in {"there", "here"}:
        at += 1
    if not verb.after:
        return at
    for needed in verb.after:
        if all(line.low(at + k) == word for k, word in enumerate(needed)):
            return at + len(needed)
    return -1


def _verb(r: Reading, i: int, verb: Verb, at: int, who: tuple[Phrase, ...], told: Mood) -> bool:
    """True where the verb says something here."""
    line = r.line
    low = line.low(i)
    is_past = low in verb.pasts and (low not in verb.forms or line.low(i - 1) not in {"do", "does", "to"})
    mood = Mood(told.sure * verb.sure, told.denied, told.over, told.past or is_past)
    perfect = line.low(i - 1) in {"have", "has", "'ve"} or line.low(i - 2) in {"have", "has", "'ve"}
    if verb.tense == "past" and not (is_past or perfect) or (verb.tense == "present" and mood.past):
        return False
    if low.endswith("ing") and not _progressive(line, i):
        return False
    if (
        low in verb.pasts
        and line.low(i - 1) in {"is", "are", "was", "were", "be", "been", "'re", "'m"}
        and low != "born"
        and not low.endswith("ing")
    ):
        return False  # passive
    if mood.denied and (verb.tense == "past" or verb.end):
        return True
    if not _agrees(line, i, low in verb.pasts, who):
        return True
    if _any_more(line, at):
        mood.over = mood.over or mood.denied
    if is_past and verb.past == "was" and not perfect:
        mood = _faded(r, who, mood)
    if verb.fixed:
        return _fixed(r, verb, at, who, mood)
    if verb.predicate in _LIKING and (line.low(at) == "to" or _gerund(line, at)):
        return _liking(r, verb, at, who, mood)
    done = False
    for found in object_phrases(line, at):
        done = _object(r, verb, found, who, mood) or done
    return done


def _agrees(line: Line, i: int, past: bool, who: tuple[Phrase, ...]) -> bool:
    """ "Tom likes", never "Tom like": that is no verb."""
    low = line.low(i)
    if past or low.endswith(("s", "ing")) or len(who) > 1 or line.tag(i - 1) == "A" or line.tag(i - 2) == "A":
        return True
    one = who[0]
    return one.pronoun not in {"he", "she", "it"} and one.name is None


def _progressive(line: Line, i: int) -> bool:
    """ "is working", and not "keen on working"."""
    at = i - 1
    while line.tag(at) in "VN":
        at -= 1
    return line.tag(at) in "A'"


def _faded(r: Reading, who: tuple[Phrase, ...], mood: Mood) -> Mood:
    mine = any(one.pronoun == "i" for one in who)
    return Mood(min(mood.sure, 0.4 if mine else 0.55), mood.denied, mood.over, True)


def _any_more(line: Line, at: int) -> bool:
    return any(
        line.low(k) == "anymore" or (line.low(k) == "more" and line.low(k - 1) == "any")
        for k in range(at, min(at + 8, len(line.words)))
    )


def _fixed(r: Reading, verb: Verb, at: int, who: tuple[Phrase, ...], mood: Mood) -> bool:
    for one in who:
        named = r.refer(one)
        if (
            named is not None
            and named.name not in {"@it", "@they", "@we"}
            and (named.name != r.me or verb.fixed != "dead")
        ):
            r.attribute(named, verb.predicate, verb.fixed, mood, 0.9)
    return True


def _object(r: Reading, verb: Verb, found: Phrase, who: tuple[Phrase, ...], mood: Mood) -> bool:
    if verb.only and not (set(found.text.lower().split()) & verb.only or found.head in verb.only):
        return False
    if found.name is None and not found.head and not found.pronoun:
        return False
    done = False
    for one in who:
        subject_is = r.refer(one, loose=verb.predicate == "owned_by")
        if subject_is is None or subject_is.name in {"@it", "@they"} and verb.predicate != "located_in":
            continue
        done = _between(r, verb, found, subject_is, mood) or done
    return done


def _between(r: Reading, verb: Verb, found: Phrase, who: Named, mood: Mood) -> bool:
    if verb.value and (verb.person is None or not _is_person(r, found)):
        text = _plain(r, found)
        if text and found.det not in _POSSESSIVE - {"my"} and found.head not in words("thing", "passing"):
            r.attribute(who, verb.predicate, text, mood, 0.85)
        return True
    if verb.named and found.name is None and not found.pronoun:
        to = r.refer(found)
        if to is None:
            return True
    else:
        to = r.refer(found, loose=True)
    if (
        to is None
        or to.name in {"@it", "@they", "@we"}
        or (found.pronoun and verb.object in {"place", "thing", "organisation", "work"})
    ):
        return True
    if verb.proper and not _definite(r, verb, found, to):
        return True
    if not found.name and found.head in words("thing", "passing"):
        return True
    predicate = verb.predicate
    if _is_person(r, found) or (found.pronoun and to.type == "person"):
        if verb.person is not None:
            predicate = verb.person
        elif verb.object in {"place", "organisation", "thing", "work"} and found.name is None:
            return True
        if not predicate:
            return True
        to = Named(to.name, "person", to.hint, to.sure)
    elif verb.object:
        if to.type == "person" and verb.object != "person":
            return True
        if not (verb.object == "person" and to.type not in {"", "person"}):
            to = Named(to.name, to.type if to.type not in {"", "thing"} else verb.object, to.hint, to.sure)
        else:
            return True
    elif found.name is None and not found.pronoun:
        to = Named(to.name, to.type or sort_of(found), to.hint, to.sure)
    if found.name is not None and verb.object == "place" and to.type == "place":
        r.meet(found.name.text, "place")
    _keep(r, verb, who, predicate, to, mood)
    return True


def _keep(r: Reading, verb: Verb, who: Named, predicate: str, to: Named, mood: Mood) -> None:
    if verb.end:
        r.add(Claim.END, who, predicate, to=to, sure=0.9 * mood.sure)
    elif mood.denied and not mood.over and predicate in _OPPOSITE:
        r.relation(who, _OPPOSITE[predicate], to, Mood(mood.sure), 0.85)
    else:
        r.relation(who, predicate, to, mood, 0.9 if verb.proper or to.type else 0.8)


def _definite(r: Reading, verb: Verb, found: Phrase, to: Named) -> bool:
    if found.name is not None or found.pronoun:
        return True
    if verb.object == "place":
        return found.head in words("thing", "place") and found.det not in _POSSESSIVE
    if verb.object == "group":
        return found.head in words("kinds", "organisation") or found.head in {
            "army",
            "navy",
            "guild",
            "choir",
            "party",
        }
    return to.type == "person" or found.det in {"the", "my"} or bool(found.owner)


def _is_person(r: Reading, found: Phrase) -> bool:
    if found.pronoun:
        return found.pronoun not in {"it", "this", "that", "something", "everything", "anything", "nothing"}
    if found.name is not None:
        return (
            found.name.type == "person"
            or r.turn.types.get(found.name.text) == "person"
            or found.head in kin()
        )
    return found.head in kin() and bool(found.owner or found.det in _POSSESSIVE)


def _plain(r: Reading, found: Phrase) -> str:
    return found.name.text if found.name is not None and not found.head else found.text


def sort_of(found: Phrase) -> str:
    """The type of a thing without a name that is liked or owned."""
    if found.head in words("animal", "pets") or found.head in words("animal", "wild"):
        return "animal"
    if found.head in words("thing", "place"):
        return "place"
    return "thing"


# -- liking, wanting, giving --------------------------------------------


def _gerund(line: Line, at: int) -> bool:
    return (
        line.tag(at) in "Bw"
        and line.low(at).endswith("ing")
        and len(line.low(at)) > 5
        and line.low(at)
        not in {
            "clothing",
            "spring",
            "string",
            "wedding",
            "morning",
            "evening",
            "nothing",
            "ceiling",
            "painting",
        }
    )


def _liking(r: Reading, verb: Verb, at: int, who: tuple[Phrase, ...], mood: Mood) -> bool:
    """ "loves to dance", "likes reading mysteries"."""
    line = r.line
    start = at + 1 if line.low(at) == "to" else at
    if line.tag(start) in ".,RDPSA" or mood.sure < 0.4:
        return True  # "I'd like to …" is a wish
    unwanted = verb.predicate in {"hates", "dislikes"} or (mood.denied and not mood.over)
    told = mood if mood.over else Mood(mood.sure)
    for one in who:
        named = r.refer(one)
        if named is None or named.name in {"@you", "@we", "@they", "@it"}:
            continue
        if line.low(start) in {"eat", "eating", "drink", "drinking"} and not unwanted:
            for found in object_phrases(line, start + 1):
                to = r.refer(found, loose=True)
                if to is not None and not to.pronoun:
                    r.relation(named, "likes", Named(to.name, "thing"), told, 0.85)
            continue
        for text in deeds(line, start):
            r.attribute(named, "avoids" if unwanted else "hobby", text, told, 0.85)
    return True


def deeds(line: Line, start: int) -> list[str]:
    """What is done, each: "hiking and swimming" are two."""
    out: list[str] = []
    while len(out) < 4:
        text, end = deed(line, start)
        if not text:
            break
        out.append(text)
        if line.low(end) == "," and line.low(end + 1) == "and":
            end += 1
        if line.low(end) in {"and", "or", ","} and (
            _gerund(line, end + 1)
            or (line.low(end) != "," and line.tag(end + 1) in "Bw" and line.tag(end + 2) in ".,")
        ):
            start = end + 1
            continue
        break
    return out


def deed(line: Line, start: int) -> tuple[str, int]:
    """What is done, the verb with what belongs to it; and where that ends."""
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
    if line.low(end) in {"out", "up"}:
        return line.piece(start, end + 1), end + 1
    after = phrase(line, end)
    if after is not None and not after.pronoun:
        end = min(after.end, end + 5)
    return line.piece(start, end), end


def _wanting(r: Reading, i: int) -> None:
    """ "wants to be a doctor", "wants a dog"."""
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
        if (
            line.low(at) == "to"
            and line.tag(at + 1) in "Bw"
            or (line.low(at) == "to" and line.low(at + 1) in {"be", "have"})
        ):
            text, _ = deed(line, at + 1)
            if text and line.low(at + 1) in words("goals") and len(text.split()) > 1:
                r.attribute(named, "goal", text, mood, 0.75)
        elif line.low(i) in {"want", "wants"}:
            found = phrase(line, at)
            if (
                found is not None
                and found.head
                and found.det in {"a", "an"}
                and found.head not in words("thing", "passing")
                and line.low(found.end) not in {"to", "of", "that", "for"}
            ):
                r.relation(named, "wants", Named(found.text, sort_of(found)), mood, 0.7)


def _giving(r: Reading, i: int) -> None:
    """ "gave the ring to Tom", "gave Tom the ring": it changes hands."""
    line = r.line
    who, mood = subject(line, i)
    if not who or mood is None or mood.denied or mood.sure < 0.5 or line.low(i) in {"give", "hands"}:
        return
    line.subjects = who
    giver = r.refer(who[0])
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
    what = Named(thing.name.text if thing.name is not None else thing.text, "thing")
    r.relation(to, "owns", what, Mood(mood.sure), 0.8)
    r.add(Claim.END, giver, "owns", to=what, sure=0.7)


def _parting(r: Reading, i: int) -> None:
    """ "Ann and Tom broke up"."""
    line = r.line
    who, mood = subject(line, i)
    if len(who) == 2 and mood is not None and not mood.denied:
        one, other = r.refer(who[0]), r.refer(who[1])
        if one is not None and other is not None:
            r.add(Claim.END, one, "partner_of", to=other, sure=0.85 * mood.sure)
