"""How people and things are called: "Hey Ann,", "I'm Ann", "my brother Tom", "a dog named Rex", "everyone calls me Bob".

Owns calling out, introductions, relatives with and without names, other names, and things with their kind. Before:
`extract_en_reading`. After: `extract_en` runs these over every sentence.
"""

from __future__ import annotations

from functools import cache

from backscroll.derive.extract_en_phrases import Mood, Phrase, kin, phrase, phrase_before
from backscroll.derive.extract_en_reading import Named, Reading
from backscroll.derive.extract_en_words import Word, words
from backscroll.vocab.assertion import PRONOUN, Claim

_PLAIN = Mood()
_FAMILY = frozenset(
    "parent_of child_of sibling_of spouse_of partner_of relative_of boss_of roommate_of".split()
)
_NAMED = frozenset("named called nicknamed dubbed".split())
_PLURAL_KIN = frozenset(
    "parents children kids sons daughters brothers sisters siblings friends colleagues folks family in-laws grandparents".split()
)
_UNSURE_KIN = frozenset({"partner", "date", "baby", "kid", "child", "folks"})
_MALE_KIND = frozenset("guy man boy girl woman lady person kid friend".split())


def names(r: Reading) -> None:
    """Every name is a node; what stands before it may show of what."""
    line = r.line
    for i, word in enumerate(line.words):
        if word.tag != "K":
            continue
        kind = word.type or _shown(r, i)
        if kind:
            r.meet(word.text, kind)
        elif _acts(r, i):
            r.people.append((r.number, word.text))
        r.node(Named(word.text, kind or r.turn.types.get(word.text, "")), sure=word.sure)


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


def calls(r: Reading) -> None:
    """Somebody is called: "Hey Ann,", "Thanks, Ann!", "Ann, look." """
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
        you = r.pronoun("you") or Named(PRONOUN + "you", "person")
        if known:
            if (word.type or "person") != "person" or r.turn.types.get(word.text, "person") != "person":
                continue
            if r.said.addressee and not r.voice and not _same_person(word.text, r.said.addressee):
                r.add(Claim.ALIAS, you, value=word.text, sure=0.35)
                continue
            r.turn.types.setdefault(word.text, "person")
            r.people = [
                (number, name) for number, name in r.people if name != word.text
            ]  # "you", never "she"
            r.add(Claim.ALIAS, you, value=word.text, sure=0.8 if word.sure >= 1 else 0.6)
            r.node(Named(word.text, "person"), sure=0.9)
        else:
            _dear(r, word, you)


_GOES_ON = frozenset("who which and or also known formerly aka born nicknamed called named".split())


def _same_person(name: str, other: str) -> bool:
    """True where a name may be another's short form: they begin alike."""
    one, two = name.lower().split(), other.lower().split()
    return any(a.startswith(b[:3]) or b.startswith(a[:3]) for a in one for b in two)


def _called(r: Reading, start: int, i: int, size: int, known: bool) -> bool:
    line = r.line
    before, after = line.low(start - 1), line.low(i + 1)
    opens = start == 0 or line.tag(start - 1) in '."*-'
    greeted = before in words("vocatives", "openers") and (
        start == 1
        or line.tag(start - 2) in '.,"I*-'
        or line.tag(start - 3) == "."
        or before in {"hey", "hi", "hello", "dear", "thanks"}
    )
    closes = i + 1 >= size or line.tag(i + 1) in '."*' or after in {"-", "~"}
    comma = before == "," and not _in_list(r, start)
    if greeted:
        return closes or after == "," or (known and line.tag(i + 1) in "PW,")
    if comma:
        return closes or (
            after == ","
            and line.tag(i + 2) not in "DSKR"
            and line.low(i + 2) not in _GOES_ON
            and line.tag(start - 2) != "K"
            and not _is_kin_before(r, start)
        )
    if opens and after == ",":
        return line.tag(i + 2) not in "DS'K" and line.low(i + 2) not in _GOES_ON
    if opens and closes:
        return after in {"!", "?", ".", "...", "…"} and (not known or after != ".")
    return line.tag(i) == "K" and closes and before == "you"  # "Thank you Ann."


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
        elif low in {"name", "names"} and line.tag(i + 1) in "A'" and line.tag(i - 1) in "S'":
            _name_is(r, i)
        elif low in {"is", "'s"} and line.low(i - 1) in {"this", "here"} and not line.asked:
            _this_is(r, i + 1)
        elif low in {"call", "calls", "called"} and line.tag(i + 1) == "P" and line.tag(i + 2) == "K":
            _called_me(r, i)
        elif low in _NAMED and line.tag(i + 1) == "K" and line.tag(i - 1) != "P":
            _named(r, i)
        elif line.tag(i + 1) == "K" and (
            low in {"aka", "a.k.a."} or (low in {"as", "for"} and line.low(i - 1) in {"known", "short"})
        ):
            _known_as(r, i)
        elif low == "here" and i == 1 and line.tag(0) == "K" and line.tag(2) == ".":
            _me(r, line.words[0], 0.8)


def _me(r: Reading, name: Word, sure: float) -> None:
    r.turn.types.setdefault(name.text, "person")
    if name.text.lower() != r.me.lower():
        r.add(Claim.ALIAS, Named(r.me, "person"), value=name.text, sure=sure)


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
    if head in kin() and head not in _PLURAL_KIN:
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


# -- relatives ---------------------------------------------------------


def relatives(r: Reading) -> None:
    """ "my brother Tom", "Tom's wife Ann", "Tom, my brother,", "my mother" (who then has no name yet)."""
    line = r.line
    for i, word in enumerate(line.words):
        if word.low not in kin() or word.tag not in "wB":
            continue
        name_follows = line.tag(i + 1) == "K"
        if word.low in _PLURAL_KIN or (word.low.endswith("s") and word.low[:-1] in kin()):
            _several(r, i)
            continue
        found = phrase_before(line, i + 1) if not name_follows else _with_name(r, i)
        if found is None or (not found.det and not found.owner):
            continue
        owner = r.kin_owner(found)
        if owner is None:
            continue
        _relative(r, i, found, owner)


def _with_name(r: Reading, i: int) -> Phrase | None:
    found = phrase_before(r.line, i + 2)
    return found if found is not None and found.head == r.line.low(i) else None


def _relative(r: Reading, i: int, found: Phrase, owner: Named) -> None:
    line = r.line
    low = line.low(i)
    relation = kin()[low]
    name: Word | None = found.name
    sure = 0.95
    if line.tag(i + 1) == "'" and line.tag(i + 2) in "wK#":
        name = None  # "my brother's car"
    if name is None and line.low(i + 1) == "," and line.tag(i + 2) == "K" and line.tag(i + 3) in ",.":
        name, sure = line.words[i + 2], 0.75 if line.low(i + 3) == "," else 0.5
    if (
        name is None
        and line.low(found.start - 1) == ","
        and line.tag(found.start - 2) == "K"
        and line.tag(i + 1) in ",."
    ):
        name, sure = line.words[found.start - 2], 0.8
    if "ex" in found.text.lower().split()[:1] or low.startswith("ex-"):
        if name is not None:
            r.add(Claim.END, Named(name.text, "person"), relation, to=owner, sure=0.9)
        return
    if name is not None:
        if name.type in {"place", "organisation"}:
            return
        who = Named(name.text, "person", sure=name.sure)
        r.meet(name.text)
        r.gender(name.text, low)
        r.relation(who, relation, owner, _PLAIN, sure)
        return
    if line.tag(found.start - 1) in "AVN'":
        return  # "is my brother": it says so of somebody else
    if relation in _FAMILY and low not in _UNSURE_KIN and not owner.pronoun and _real(r, found):
        who = r.relative(owner.name, low)
        r.relation(who, relation, owner, _PLAIN, 0.8)
        r.people.append((r.number, who.name))


def _several(r: Reading, i: int) -> None:
    """ "our two kids, Max and Mia"."""
    line = r.line
    found = phrase_before(line, i + 1)
    at = i + 1 + (line.low(i + 1) in {",", ":", "("})
    if found is None or line.tag(at) != "K" or line.low(at + 1) not in {"and", ",", "&"}:
        return
    owner = r.kin_owner(found)
    names: list[Word] = []
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
        r.relation(Named(name.text, "person"), kin()[line.low(i)], owner, _PLAIN, 0.85)


def _real(r: Reading, found: Phrase) -> bool:
    """False for relatives that are denied, wished for or asked about."""
    line = r.line
    start = max(0, found.start - 5)
    return (
        not any(
            line.tag(at) == "N"
            or line.low(at) in words("hedges", "blocks")
            or line.low(at) in {"be", "future", "become", "without"}
            for at in range(start, found.start)
        )
        and not line.asked
        and "future" not in found.text
    )
