"""How people and things are called: "Hey Ann,", "I'm Ann", "my brother Tom", "a dog named Rex", "everyone calls me Bob".

Owns calling out, introductions, relatives with and without names, other names, and things with their kind. Before:
`extract_en_reading`. After: `extract_en` runs these over every sentence.
"""

from __future__ import annotations

from functools import cache

from backscroll.derive.extract.en.cues import leans_to_person, name_sure, used_as
from backscroll.derive.extract.en.grammar.clauses import Mood
from backscroll.derive.extract.en.grammar.phrases import kin, phrase, phrase_before
from backscroll.derive.extract.en.grammar.words import Word, words
from backscroll.derive.extract.en.message import Named, Reading
from backscroll.vocab.assertion import LEANS, PRONOUN, Claim

_PLAIN = Mood()
_NAMED = frozenset("named called nicknamed dubbed".split())
PLURAL_KIN = frozenset(
    "parents children kids sons daughters brothers sisters siblings friends colleagues folks family in-laws grandparents".split()
)
_MALE_KIND = frozenset("guy man boy girl woman lady person kid friend".split())


def names(r: Reading) -> None:
    """Every name is a node; what stands before it may show of what."""
    line = r.line
    for i, word in enumerate(line.words):
        if word.tag != "K":
            continue
        kind = word.type or _shown(r, i) or used_as(line, i)
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
        r.node(Named(word.text, "person" if leans else kind, LEANS if leans else ""), sure=sure)


def _acronym(text: str) -> bool:
    """True for two or three capitals: mostly a measure or a term."""
    return 1 < len(text) < 4 and text.isupper()


def _shown(r: Reading, i: int) -> str:
    """What the words before a name show: "the movie X", "the city of X", "live in X"."""
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


def _acts(r: Reading, i: int) -> bool:
    """True where the name does what people do: it speaks, smiles, has something."""
    after = r.line.tag(i + 1)
    return (
        after == "B"
        or (after == "A" and r.line.low(i + 1) in {"has", "had", "is", "was", "does", "did"})
        or after == "'"
    )


# -- calling out -------------------------------------------------------


@cache
def calling_words() -> frozenset[str]:
    """Words other than names by which somebody is called."""
    return words("vocatives", "dear") | words("vocatives", "kin")


def calls(r: Reading, *, overheard: bool = False) -> None:
    """Somebody is called: "Hey Ann,", "Thanks, Ann!", "Ann, look."; `overheard`: by nobody knows whom."""
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
        if not _called(r, start, i, size, known):
            continue
        you = Named(PRONOUN + "you", "person")
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
            ):  # whom somebody in a story calls, nobody in this conversation need be
                r.add(Claim.ALIAS, you, value=word.text, sure=0.8 if word.sure >= 1 else 0.6)
            r.node(Named(word.text, "person"), sure=0.9)
        elif not overheard:
            _dear(r, word, you)


_GOES_ON = frozenset("who which and or also known formerly aka born nicknamed called named".split())


def same_person(name: str, other: str) -> bool:
    """True where a name may be another's short form: they begin alike."""
    one, two = name.lower().split(), other.lower().split()
    return any(a.startswith(b[:3]) or b.startswith(a[:3]) for a in one for b in two)


def _called(r: Reading, start: int, i: int, size: int, known: bool) -> bool:
    line = r.line
    before, after = line.low(start - 1), line.low(i + 1)
    opens = start == 0 or line.tag(start - 1) in '."*-'
    greeted = _greeted(r, start, before)
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


def _tacked_on(r: Reading, start: int, known: bool) -> bool:
    """At the end without a comma: "thank you Ann.", "what's up Joe?", "I'm sorry buddy."."""
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


def _greeted(r: Reading, start: int, before: str) -> bool:
    """True after a greeting, or after another opener at the start of the sentence."""
    line = r.line
    if before in _GREETINGS:
        return True
    first = start == 1 or line.tag(start - 2) in '."*'
    if before == "on" and line.low(start - 2) == "come":
        return start == 2 or line.tag(start - 3) in '.,I"*'
    return before in words("vocatives", "openers") and first


def _in_list(r: Reading, start: int) -> bool:
    """ "I met Tom, Ann, and Bob": a list, nobody is called."""
    line = r.line
    last = line.low(start - 2)
    if line.tag(start - 2) == "K" or last in {"named", "called"} or last in kin() or kind_of(last):
        return True  # "my home country, Peru": it says which
    return any(
        line.low(at) in {"and", "or", "&"} and "K" in {line.tag(at + 1), line.tag(at + 2)}
        for at in range(start, min(start + 6, len(line.words)))
    )


def _is_kin_before(r: Reading, start: int) -> bool:
    return r.line.low(start - 2) in kin()


def _dear(r: Reading, word: Word, you: Named) -> None:
    """Called by another word than a name: a hint on the relation, and for relatives the relation itself."""
    low = word.low
    relation = kin().get(low, "")
    if (
        low in words("vocatives", "kin")
        and relation
        and low not in {"bro", "sis", "aunt", "uncle", "auntie", "father", "mother"}
    ):
        r.relation(you, relation, Named(r.me, "person"), _PLAIN, 0.8)
        r.gender(you.name, low)
    r.add(Claim.ALIAS, you, value=word.text.lower(), sure=0.4)


# -- introductions -----------------------------------------------------


def introductions(r: Reading) -> None:
    """ "I'm Ann", "this is Ann", "my name is Ann", "call me Ann", "it's me, Ann"."""
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
            _named(r, i)
        elif line.tag(i + 1) == "K" and (
            low in {"aka", "a.k.a."} or (low in {"as", "for"} and line.low(i - 1) in {"known", "short"})
        ):
            _known_as(r, i)
        elif low == "here" and i == 1 and line.tag(0) == "K" and line.tag(2) == ".":
            _me(r, line.words[0], 0.8)


_REAL = frozenset({"real", "full", "first", "true", "actual"})


def _goes_by(r: Reading, i: int) -> None:
    """ "I go by Bo", "Katherine goes by Kit"."""
    found = phrase_before(r.line, i - 1)
    who = r.refer(found) if found is not None else None
    if who is not None and not r.line.asked:
        r.meet(r.line.words[i + 1].text)
        r.add(Claim.ALIAS, who, value=r.line.words[i + 1].text, sure=0.85)


def _me(r: Reading, name: Word, sure: float) -> None:
    r.turn.types.setdefault(name.text, "person")
    if name.text.lower() != r.me.lower():
        r.add(Claim.ALIAS, Named(r.me, "person"), value=name.text, sure=sure)


def _you_are(r: Reading, name: Word) -> None:
    """ "You're Ann, right?"."""
    you = r.pronoun("you")
    if you is not None and name.type in {"", "person"}:
        r.turn.types.setdefault(name.text, "person")
        r.add(
            Claim.ALIAS,
            you,
            value=name.text,
            sure=0.75 if not r.line.asked or r.line.low(0) == "you" else 0.6,
        )


def _name_is(r: Reading, i: int) -> None:
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
        return  # only where nothing is written with capitals
    owner = r.owner(found)
    if owner is None:
        return
    if owner.name == r.me:
        r.turn.types.setdefault(value.text, "person")
    else:
        r.meet(value.text)
    r.add(Claim.ALIAS, owner, value=value.text, sure=0.95 if owner.name == r.me else 0.9)


def _this_is(r: Reading, at: int) -> None:
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
    r.node(Named(found.name.text, kind), sure=0.9)
    if (
        line.low(at - 2) == "this"
        and not found.det
        and line.tag(found.end) == "."
        and line.low(0) in {"this", "hi", "hello", "hey"}
    ):
        r.add(Claim.ALIAS, Named(PRONOUN + "they", "person"), value=found.name.text, sure=0.3)


def _called_me(r: Reading, i: int) -> None:
    line = r.line
    whom = r.pronoun(line.low(i + 1))
    name = line.words[i + 2]
    if whom is None or whom.name == PRONOUN + "it" or (line.asked and line.low(i) == "call"):
        return
    if line.tag(i - 1) == "A" and line.low(i - 1) in words("hedges", "modals") and line.low(i - 1) != "can":
        return
    r.meet(name.text)
    r.add(Claim.ALIAS, whom, value=name.text, sure=0.85)


def _named(r: Reading, i: int) -> None:
    """ "a dog named Rex", "my brother is called Tom"."""
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
    who = Named(name.text, kind)
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


def _known_as(r: Reading, i: int) -> None:
    """ "Ann, also known as Red", "Ann, a.k.a. Red", "Liz, short for Elizabeth"."""
    line = r.line
    at = i - 1
    while at > 0 and line.tag(at) != "K" and (line.tag(at) in "AVB,C'" or line.low(at) in {"short", "known"}):
        at -= 1
    if line.tag(at) == "K" and at >= 0:
        one, other = line.words[at].text, line.words[i + 1].text
        r.add(Claim.ALIAS, Named(one), value=other)


def kind_of(head: str) -> str:
    """The type that a common noun shows; empty where it shows none."""
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
