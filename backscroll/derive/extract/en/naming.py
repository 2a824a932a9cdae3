"""Names as nodes and as forms of address: "Hey Ann,", "Thanks, Ann!"; the type that a common noun shows."""

from __future__ import annotations

from functools import cache

from backscroll.derive.extract.en.cues import leans_to_person, name_sure, used_as
from backscroll.derive.extract.en.grammar.clauses import Mood
from backscroll.derive.extract.en.grammar.phrases import kin
from backscroll.derive.extract.en.grammar.words import EnglishWord, words
from backscroll.derive.extract.en.message import MessageReading, NamedThing
from backscroll.vocab.assertion import LEANS, PRONOUN, Claim

_PLAIN = Mood()
_MALE_KIND = frozenset("guy man boy girl woman lady person kid friend".split())
PLURAL_KIN = frozenset(
    "parents children kids sons daughters brothers sisters siblings friends colleagues folks family in-laws grandparents".split()
)


def names(r: MessageReading) -> None:
    """Assert every name as a node, with the type that the words before it show."""
    line = r.line
    for i, word in enumerate(line.words):
        if word.tag != "K":
            continue
        kind = word.type or _infer_type(r, i) or used_as(line, i)
        acts = not kind and _acts(r, i)
        if kind:
            r.meet(word.text, kind)
        elif acts:
            r.people.append((r.number, word.start, word.text))
        sure = (
            name_sure(word.low, word.sure < 1, kind, acts=acts, acronym=_acronym(word.text))
            if not word.quoted
            else 0.6
        )
        kind = kind or r.turn.types.get(word.text, "")
        leans = not kind and not word.quoted and leans_to_person(line, i)
        r.node(NamedThing(word.text, "person" if leans else kind, LEANS if leans else ""), sure=sure)


def _acronym(text: str) -> bool:
    """Return True for two or three capitals: usually a unit or a term."""
    return 1 < len(text) < 4 and text.isupper()


def _infer_type(r: MessageReading, i: int) -> str:
    """Return the type that the words before a name show: "the movie X", "the city of X", "live in X"."""
    line = r.line
    before = line.low(i - 1)
    if before == "of":
        before = line.low(i - 2)
    for kind in ("work", "organisation", "place", "thing"):
        if before in words("kinds", kind) and line.tag(i - 1) in "wR":
            return kind
    if before in kin() or before in _MALE_KIND or before in words("occupation"):
        return "person"
    if before in words("animal", "pets"):
        return "animal"
    if (
        before == "in"
        and line.low(i - 2) not in {"believe", "interested", "believes", "interest", "trust"}
        and line.tag(i + 1) != "'"
        and all(w[1:].islower() for w in line.words[i].text.split())
    ):
        return "place"
    return ""


def _acts(r: MessageReading, i: int) -> bool:
    """Return True if the name acts as a person: it speaks, smiles, has something."""
    after = r.line.tag(i + 1)
    return (
        after == "B"
        or (after == "A" and r.line.low(i + 1) in {"has", "had", "is", "was", "does", "did"})
        or after == "'"
    )


# -- calling out -------------------------------------------------------


@cache
def calling_words() -> frozenset[str]:
    """Return forms of address other than names."""
    return words("vocatives", "dear") | words("vocatives", "kin")


def calls(r: MessageReading, *, overheard: bool = False) -> None:
    """Read forms of address: "Hey Ann,", "Thanks, Ann!", "Ann, look."; `overheard`: the speaker is unknown."""
    line = r.line
    size = len(line.words)
    for i, word in enumerate(line.words):
        known = word.tag == "K"
        if not known and (
            word.tag not in "wI"
            or (word.low not in words("vocatives", "dear") and word.low not in words("vocatives", "kin"))
        ):
            continue
        if not known and (word.low in {"man", "boy", "god"} and i == 0):
            continue  # an exclamation
        start = i
        if not known and line.low(i - 1) in {"my", "little", "old"}:
            start = i - 1
        if not _is_vocative(r, start, i, size, known):
            continue
        you = NamedThing(PRONOUN + "you", "person")
        if known:
            if (
                word.quoted
                or word.text.isupper()
                or any(sum(map(str.isupper, w[1:])) > 1 for w in word.text.split() if "-" not in w)
            ):
                continue  # letters and made-up spellings stand for things
            if (word.type or "person") != "person" or r.turn.types.get(word.text, "person") != "person":
                continue
            r.turn.types.setdefault(word.text, "person")
            r.people = [one for one in r.people if one[2] != word.text]  # "you", never "she"
            if (
                not r.voice and not overheard
            ):  # a person addressed in a story need not be in this conversation
                r.add(Claim.ALIAS, you, value=word.text, sure=0.8 if word.sure >= 1 else 0.6)
            r.node(NamedThing(word.text, "person"), sure=0.9)
        elif not overheard:
            _dear(r, word, you)


_GOES_ON = frozenset("who which and or also known formerly aka born nicknamed called named".split())


def same_person(name: str, other: str) -> bool:
    """Return True if one name may be short for the other: they begin alike."""
    one, two = name.lower().split(), other.lower().split()
    return any(a.startswith(b[:3]) or b.startswith(a[:3]) for a in one for b in two)


def _is_vocative(r: MessageReading, start: int, i: int, size: int, known: bool) -> bool:
    line = r.line
    before, after = line.low(start - 1), line.low(i + 1)
    opens = start == 0 or line.tag(start - 1) in '."*-'
    greeted = _is_after_greeting(r, start, before)
    closes = i + 1 >= size or after in _CLOSERS
    filler = line.tag(start - 2) == "R" or (
        line.tag(start - 2) == "I" and line.tag(start - 3) not in '."I*' and line.low(start - 3) != "good"
    )
    comma = before == "," and not filler and not _in_list(r, start)
    if greeted:
        return closes or after == "," or (known and line.tag(i + 1) in "PW,")
    if comma:
        return closes or (
            after == ","
            and line.tag(i + 2) not in "DSKR"
            and line.low(i + 2) not in _GOES_ON
            and (line.tag(i + 2) != "A" or line.tag(i + 3) == "P")
            and not (line.tag(i + 2) in "Bw" and line.low(i + 2).endswith(("ed", "s")))
            and line.tag(start - 2) != "K"
            and not _is_kin_before(r, start)
        )
    if opens and after == ",":
        return line.tag(i + 2) not in "DS'K" and line.low(i + 2) not in _GOES_ON
    if opens and closes:
        return after in {"!", "?", ".", "...", "…"} and (not known or after != ".")
    if known and opens and line.low(i + 1) in _ORDERS:
        return True  # "Ann look, …"
    return _tacked_on(r, start, known) and (closes or after == ",")


_ORDERS = frozenset("look listen wait let please stop tell give help".split())
_TACKED = frozenset("you ya it too now there here then again sorry okay ok up tonight today me".split())


def _tacked_on(r: MessageReading, start: int, known: bool) -> bool:
    """Return True for a form of address at the end without a comma: "thank you Ann.", "what's up Joe?", "I'm sorry buddy."."""
    line = r.line
    before = line.low(start - 1)
    if before in {"up", "on"}:
        return line.low(start - 2) in {"'s", "come", "is"}
    if before in {"it", "me"} and known:
        return False  # "call it Bob", "call me Bob"
    return before in _TACKED and line.low(start - 2) not in {"call", "calls", "called", "name", "named"}


_CLOSERS = frozenset({".", "!", "?", "...", "…", "*", '"', "”", "~", "-", "—"})
_GREETINGS = frozenset(
    "hey hi hello dear thanks bye goodbye congrats congratulations welcome hiya cheers".split()
)


def _is_after_greeting(r: MessageReading, start: int, before: str) -> bool:
    """Return True after a greeting, or after another opener at the start of the sentence."""
    line = r.line
    if before in _GREETINGS:
        return True
    first = start == 1 or line.tag(start - 2) in '."*'
    if before == "on" and line.low(start - 2) == "come":
        return start == 2 or line.tag(start - 3) in '.,I"*'
    return before in words("vocatives", "openers") and first


def _in_list(r: MessageReading, start: int) -> bool:
    """Return True for a name in a list, which is not a form of address: "I met Tom, Ann, and Bob"."""
    line = r.line
    last = line.low(start - 2)
    if line.tag(start - 2) == "K" or last in {"named", "called"} or last in kin() or kind_of(last):
        return True  # "my home country, Peru": an apposition
    return any(
        line.low(at) in {"and", "or", "&"} and "K" in {line.tag(at + 1), line.tag(at + 2)}
        for at in range(start, min(start + 6, len(line.words)))
    )


def _is_kin_before(r: MessageReading, start: int) -> bool:
    return r.line.low(start - 2) in kin()


def _dear(r: MessageReading, word: EnglishWord, you: NamedThing) -> None:
    """Read address by a word other than a name: a hint on the relation; for relatives, the relation."""
    low = word.low
    relation = kin().get(low, "")
    if (
        low in words("vocatives", "kin")
        and relation
        and low not in {"bro", "sis", "aunt", "uncle", "auntie", "father", "mother"}
    ):
        r.relation(you, relation, NamedThing(r.me, "person"), _PLAIN, 0.8)
        r.gender(you.name, low)
    r.add(Claim.ALIAS, you, value=word.text.lower(), sure=0.4)


# -- introductions -----------------------------------------------------


def kind_of(head: str) -> str:
    """Return the type that a common noun shows; empty where it shows none."""
    if head.endswith("s") and head[:-1] in words("occupation"):
        head = head[:-1]
    if head.endswith(tuple(words("occupation", "suffix"))):
        return "person"
    if (
        head in kin()
        or head in _MALE_KIND
        or head in words("occupation")
        or head in words("gender", "male")
        or head in words("gender", "female")
    ):
        return "person"
    if head in words("animal", "pets") or head in words("animal", "wild"):
        return "animal"
    if head in words("race"):
        return "person"
    for kind in ("work", "organisation", "place", "thing"):
        if head in words("kinds", kind):
            return kind
    return "place" if head in words("thing", "place") else ""
