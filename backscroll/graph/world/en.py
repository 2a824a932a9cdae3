"""Statements in English prose of a world description: class, residence, membership and properties of its subjects.

Owns a small grammar: a sentence has a subject, then clauses that each begin with a known verb. Descriptions are written for
lookup, so this finds most of what matters; other text is left alone. Not here: pronouns that do not mean
the subject at hand, questions, conditions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from backscroll.derive.essence.sentences import sentences
from backscroll.derive.extract.ontology import is_relation
from backscroll.graph.world.en_verbs import (
    ADVERB,
    appearance_pattern,
    be_pattern,
    be_predicates,
    joint_pattern,
    opening_pattern,
    phrase_values,
    verb_pattern,
    verb_predicates,
)
from backscroll.graph.world.words import (
    Noun,
    WorldStatement,
    adjectives,
    is_field,
    is_han,
    kind_words,
    noun_of,
    plain,
    predicate_of,
    tidy,
    words,
)

_PRONOUN = re.compile(r"(?:she|he|they|it)$", re.IGNORECASE)
_DOUBT = re.compile(
    r"\b(?:if|maybe|perhaps|might|could|would|unless|whether|rumou?red|supposedly)\b|\?\s*$", re.IGNORECASE
)
_NOT = re.compile(r"(?:not|never|no longer|n't)\b", re.IGNORECASE)
_OBJECT_END = re.compile(
    r"[,;.(\u2014]|\s(?:who|which|that|where|when|while|since|because|although|but|with|near|until|after|before)\s",
    re.IGNORECASE,
)
_AND = re.compile(r",?\s+and\s+(?=[a-z])")
_ALL = re.compile(r"^(?:all|every|each|most|any|many)(?:\s+of)?(?:\s+the)?\s+", re.IGNORECASE)
_AGE = re.compile(r"(?:about |around |over )?(\d{1,5}|[a-z-]{3,20})[ -]years?[ -]old\b", re.IGNORECASE)
_KIN = re.compile(r"(?:the\s+)?([A-Z][\w'’-]*(?:\s[A-Z][\w'’-]*){0,3})['’]s\s+(\w+)\b")
_PLACED = re.compile(
    r"(?:in|at|on|under|by|to|for|of|with|from|about|as|near|being|been|going|here|there)\b", re.IGNORECASE
)
_LOOK = re.compile(r"^(?:(?:old|young|ancient|tall|small|large|little|big)\s+)+(?=\S)", re.IGNORECASE)
_CONTRAST = re.compile(r"\s*[,;]?\s+(?:but|yet|though|although|while|unless|except)\s")
_FEELINGS = frozenset({"likes", "dislikes", "hates", "fears", "loves", "wants"})
_TECHNICAL = re.compile(r"`|\]\(|\|\||==|[{}<>]|\w\(\)|://")  # about programs, not about a world
_NO_SUBJECT = re.compile(
    r"[,.*:;!?()\"]|\b(?:that|which|who|what|when)\b|^(?:the|a|an|so|then|and|but|not|no)$"
)
_POSSESSED = re.compile(
    r"(?:Her|His|Its|Their)\s+(\w+(?:\s\w+)?)\s+(?:is|was|are)\s+([A-Z][\w'’-]*(?:\s[A-Z][\w'’-]*){0,3})\s*[.!]?$"
)
_DONE_TO = re.compile(
    r"\w+(?:ed|en|wn|ut|lt)\s+(?:in|at|on|by|to|from|into|with|for|as|under|over)\b", re.IGNORECASE
)
_PROPER = re.compile(r"(?:[Tt]he\s+)?[A-Z][\w'’.-]*(?:\s+(?:of|the|de|von|van|and|al|[A-Z][\w'’.-]*)){0,5}")
_SMALL = frozenset("of the and what about it does do how why to in for with on at is are".split())
_MANY_OF = re.compile(r"(?:[a-z-]+\s){0,2}[a-z]{3,}s\s+of\s+[a-z]")
#: Types of nouns whose class is the whole phrase with "of": "beasts of darkness".
_OF_WHAT = frozenset({"creature", "animal", "thing", "concept"})


def read_english(text: str, names: frozenset[str]) -> Iterator[WorldStatement]:
    """Yield the statements of the sentences; `names` are those of the entry, in plain form. An empty subject means the entry's own."""
    current = ""
    for number, sentence in enumerate(sentences(text)):
        if sentence.shape in {"code", "row", "heading"} or is_han(sentence.text[:20]):
            continue
        words_ = sentence.text.lstrip("-*+• \t").strip()
        first = number == 0  # "A young elf." says what the following text is about
        if _DOUBT.search(words_) or _TECHNICAL.search(words_):
            continue
        if (possessed := _POSSESSED.match(words_)) and is_field(possessed[1]):
            yield WorldStatement(current, predicate_of(possessed[1]), possessed[2].rstrip(" ."))
            continue
        found = opening_pattern().match(words_)
        if not found:
            if first:
                yield from _bare(words_, current)
            continue
        subject = _subject(found["subject"], names, current)
        if subject is None:
            continue
        current = subject
        if not _sure_name(subject):
            yield from (
                said
                for said in _read_sentence(subject, words_, found.end())
                if said.predicate in _in_passing()
            )
            continue
        yield from _read_sentence(subject, words_, found.end())


def _read_sentence(subject: str, sentence: str, start: int) -> Iterator[WorldStatement]:
    if apposed := re.match(r"[^,]{1,60},\s+(an?|the)\s+([^,]{2,60}),", sentence):
        yield from _is(subject, f"{apposed[1]} {apposed[2]}")
    for clause in joint_pattern().split(sentence[start:].rstrip(" .!。")):
        yield from _clause(subject, clause or "")


@cache
def _in_passing() -> frozenset[str]:
    return frozenset([*words("in_passing")["predicates"], "type"])


def _sure_name(subject: str) -> bool:
    """Return False for one capitalised word at the beginning of a sentence: it may be any word."""
    return not subject or len(subject.split()) > 1 or noun_of(subject) is not None


def _bare(text: str, current: str) -> Iterator[WorldStatement]:
    """Read a note without a verb: "Forest elf, helpful." describes the entry's subject."""
    head = re.split(r"[,;.]", text, maxsplit=1)[0].strip()
    bare = re.sub(r"^(?:an?|the)\s+", "", head, flags=re.IGNORECASE)
    if (
        0 < len(head) <= 100
        and len(head.split()) <= 12
        and "*" not in head
        and noun_of(_preposition(bare)[0]) is not None
    ):
        yield from _is_a(current, text.rstrip(" ."))


def _subject(raw: str, names: frozenset[str], current: str) -> str | None:
    """Return the subject of a sentence: empty for the entry's own, None if unknown."""
    subject = tidy(raw)
    if _PRONOUN.match(subject):
        return current
    general = _ALL.match(subject) is not None
    bare = _ALL.sub("", subject, count=1)
    key = plain(bare)
    if (
        key in names
        or _part_of_name(key, bare, names)
        or any(kind_words(key) == kind_words(n) for n in names)
    ):
        return ""
    if len(key.split()) > 6 or not key or _NO_SUBJECT.search(key):
        return None
    named = _PROPER.fullmatch(bare) is not None
    kind = noun_of(key) is not None and not re.match(r"(?:a|an)\s", bare, re.IGNORECASE)
    if not (named or kind or (general and len(key.split()) <= 3)):
        return None
    if key.split()[0] in {
        "there",
        "this",
        "that",
        "these",
        "those",
        "what",
        "who",
        "it",
        "we",
        "you",
        "i",
        "in",
        "when",
        "as",
        "for",
        "her",
        "his",
        "their",
        "its",
    }:
        return None
    return re.sub(r"^(?:the|The)\s+", "", bare)


def _part_of_name(key: str, written: str, names: frozenset[str]) -> bool:
    """Return True for "Aria" if the entry is about "Captain Aria Voss"."""
    parts = key.split()
    if not written[:1].isupper() or noun_of(key) is not None:
        return False
    longer = (set(name.split()) for name in names if len(parts) < len(name.split()) <= 4)
    return any(set(parts) <= name and _SMALL.isdisjoint(name) for name in longer)


def _clause(subject: str, clause: str) -> Iterator[WorldStatement]:
    found = verb_pattern().match(clause)
    if not found:
        return
    verb = re.sub(r"\s+", " ", found["verb"].lower())
    rest = clause[found.end() :].strip()
    adverb = clause[: found.start("verb")].strip().lower()
    if adverb in {"never", "rarely", "once", "originally"} or _NOT.match(rest):
        return
    if (phrase := phrase_values().get(verb)) is not None:
        yield WorldStatement(subject, *phrase)
    elif verb in {"has", "have", "had"}:
        yield from _has(subject, rest)
    elif (predicate := verb_predicates().get(verb)) is not None:
        if predicate == "member_of" and re.match(r"no\s", rest):
            yield WorldStatement(subject, "faction", "neutral")
        else:
            yield from _objects(subject, predicate, rest)
    else:
        yield from _is(subject, rest)


def _objects(subject: str, predicate: str, rest: str) -> Iterator[WorldStatement]:
    if not is_relation(predicate):
        if value := tidy(rest)[:200]:
            yield WorldStatement(subject, predicate, value)
        return
    end = None if predicate in _FEELINGS else _OBJECT_END.search(rest)
    text = rest[: end.start()] if end else _CONTRAST.split(rest, maxsplit=1)[0]
    text = _AND.split(text, maxsplit=1)[0] if predicate in {"lives_in", "located_in", "comes_from"} else text
    joint = r"\s*,\s*(?:and\s+)?|\s+and\s+" if predicate in _FEELINGS else r"\s+and\s+(?=(?:the\s+)?[A-Z])"
    for piece in re.split(joint, text):
        name = re.sub(r"^(?:the|a|an|her|his|their|its)\s+", "", tidy(piece), flags=re.IGNORECASE)
        if name and len(name) <= 80:
            yield WorldStatement(subject, predicate, name)


def _has(subject: str, rest: str) -> Iterator[WorldStatement]:
    low = rest.lower()
    if appearance_pattern().search(low):
        yield WorldStatement(subject, "appearance", tidy(rest)[:200])
    elif kin := re.match(
        r"an?\s+(?:\w+\s+)?(sister|brother|daughter|son|wife|husband|dog|cat|pet)\s+(?:named|called)\s+([A-Z]\w+)",
        rest,
    ):
        relation = {
            "sister": "sibling_of",
            "brother": "sibling_of",
            "daughter": "parent_of",
            "son": "parent_of",
        }
        relation |= {"wife": "spouse_of", "husband": "spouse_of"}
        yield WorldStatement(subject, relation.get(kin[1], "has_pet"), kin[2])


def _is(subject: str, rest: str) -> Iterator[WorldStatement]:
    """Yield the statements after a form of "be"."""
    rest = re.sub(rf"^{ADVERB}", "", rest, count=1, flags=re.IGNORECASE)
    low = rest.lower()
    if (placed := be_pattern().match(low)) is not None:
        yield from _objects(subject, be_predicates()[placed[0]], rest[placed.end() :].strip())
        return
    if age := _AGE.match(rest):
        yield WorldStatement(subject, "age", age[1])
        rest = rest[age.end() :].strip(" ,")
        if not rest:
            return
    if kin := _KIN.match(rest):
        yield from _kin(subject, kin[1], kin[2])
    elif re.match(r"(?:an?|the|one of)\s", rest, re.IGNORECASE) or noun_of(_phrase(rest)) is not None:
        yield from _is_a(subject, rest)
    elif _MANY_OF.match(rest):  # "moths of ash", whatever a moth is
        yield WorldStatement(subject, "kind", tidy(_phrase(rest))[:80])
    else:
        yield from _is_how(subject, rest)


def _phrase(text: str) -> str:
    return re.split(r"[,;.(—]|\s[-–]\s|\s(?:and|but|that|who|which|where)\s", text, maxsplit=1)[0].strip()


def _kin(subject: str, name: str, noun: str) -> Iterator[WorldStatement]:
    for label in (f"the {noun.lower()} of", f"a {noun.lower()} of", f"an {noun.lower()} of"):
        if label in be_predicates():
            yield WorldStatement(subject, be_predicates()[label], name)
            return


def _is_a(subject: str, rest: str) -> Iterator[WorldStatement]:
    """Read "a helpful forest elf from the north": the class, and what is stated along with it."""
    bare = re.sub(r"^(?:an?|the|one of the|one of)\s+", "", rest, flags=re.IGNORECASE)
    if age := _AGE.match(bare):
        yield WorldStatement(subject, "age", age[1])
        bare = bare[age.end() :].strip()
    head = tidy(_phrase(bare))
    before, joint, after = _preposition(head)
    noun = noun_of(before)
    if noun is not None:
        yield WorldStatement(subject, "type", noun.type)
        if noun.type != noun.predicate and not (noun.predicate == "kind" and noun.type == "person"):
            whole = head if joint == "of" and noun.type in _OF_WHAT else before
            yield WorldStatement(
                subject, noun.predicate, _LOOK.sub("", before) if noun.type == "person" else whole
            )
        if noun.type == "person" and plain(before).split()[-1] in {
            "woman",
            "girl",
            "daughter",
            "mother",
            "queen",
            "princess",
            "witch",
            "priestess",
        }:
            yield WorldStatement(subject, "gender", "female")
        elif noun.type == "person" and plain(before).split()[-1] in {
            "man",
            "boy",
            "son",
            "father",
            "king",
            "prince",
        }:
            yield WorldStatement(subject, "gender", "male")
        if joint and after:
            yield from _beside(subject, joint, after, noun)
    elif head:
        yield WorldStatement(subject, "description", tidy(rest)[:200])
    tail = bare[len(_phrase(bare)) :]
    if after_comma := re.match(r"\s*,\s*(?=[a-z])", tail):
        done = tail[after_comma.end() :]
        if (placed := be_pattern().match(done)) is not None:
            yield from _objects(subject, be_predicates()[placed[0]], done[placed.end() :].strip())
            return
    if how := re.match(r"\s*,\s*((?:\w+(?:\s+(?:but|and|yet)\s+|,\s*)?){1,5})$", tail):
        yield from _is_how(subject, how[1])


def _preposition(head: str) -> tuple[str, str, str]:
    found = re.search(r"\s(from|of|in|at|on|near|with)\s", head)
    return (head[: found.start()], found[1], head[found.end() :]) if found else (head, "", "")


def _beside(subject: str, joint: str, after: str, noun: Noun) -> Iterator[WorldStatement]:
    relation = {
        "from": "comes_from",
        "in": "located_in",
        "at": "located_in",
        "on": "located_in",
        "near": "located_in",
    }.get(joint)
    if joint == "of" and noun.predicate == "occupation":
        relation = "member_of"
    if joint == "of" and noun.type in {"place", "group", "organisation"}:
        relation = "part_of"
    if relation:
        yield from _objects(subject, relation, after)
    elif joint == "with":
        yield from _has(subject, after)


def _is_how(subject: str, rest: str) -> Iterator[WorldStatement]:
    value = tidy(re.split(r"[;.]", rest, maxsplit=1)[0])
    if (
        not value
        or len(value.split()) > 9
        or not re.match(r"[A-Za-z]", value)
        or _PLACED.match(value)
        or _DONE_TO.match(value)
    ):
        return
    known = adjectives()
    left: list[str] = []
    for piece in re.split(r"\s*,\s*(?:and\s+|but\s+)?|\s+and\s+", value):
        bare = re.sub(r"^(?:very|quite|extremely|rather|always|usually)\s+(?=\w)", "", piece.lower())
        hit = known.get(piece.lower()) or known.get(bare)
        if hit is not None:
            yield WorldStatement(subject, *hit)
        elif piece:
            left.append(piece)
    if not left:
        return
    how = (
        value
        if len(left) == len(re.split(r"\s*,\s*(?:and\s+|but\s+)?|\s+and\s+", value))
        else ", ".join(left)
    )
    looks = words("appearance")["words"]
    yield WorldStatement(subject, "appearance" if plain(how).split()[0] in looks else "disposition", how)
