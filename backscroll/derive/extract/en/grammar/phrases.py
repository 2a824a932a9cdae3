"""Phrases of an English sentence: noun phrases, the subject of a verb, and how certain the clause is.

Owns finding the noun phrase before and after a place in a sentence, the subject of a verb, and the mood of a clause (asked,
denied, wished, reported). Refuses meaning: which relation a verb makes is decided by the rules.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from backscroll.derive.extract.en.grammar.words import EnglishWord, table, words

MOST_WORDS = 7  # of a noun phrase
_QUANTITIES = frozenset(
    "lot lots couple bit bunch pair plenty total dozen handful set mix range kind sort type kinds sorts types number piece cup glass group few variety".split()
)


@dataclass(slots=True)
class NounPhrase:
    """A noun phrase: `line[start:end]`."""

    start: int
    end: int
    det: str = ""  # determiner or possessive, in lower case
    owner: str = ""  # name before 's, as written
    head: str = ""  # last common noun, in lower case
    text: str = ""  # the words without determiner and owner
    name: EnglishWord | None = None  # the name in it, at its end or alone
    pronoun: str = ""
    number: str = ""

    @property
    def alone(self) -> bool:
        """True for a name and nothing else."""
        return self.name is not None and not self.head and not self.owner


@dataclass(slots=True)
class ParsedSentence:
    """A sentence split into tagged words."""

    words: list[EnglishWord]
    text: str
    start: int  # of the sentence in its message
    asked: bool = False
    subjects: tuple[NounPhrase, ...] = ()  # of the verb read last, for subjects that share it

    def low(self, i: int) -> str:
        """Return the word at `i` in lower case; empty outside the sentence."""
        return self.words[i].low if 0 <= i < len(self.words) else ""

    def tag(self, i: int) -> str:
        """Return the tag of the word at `i`; a stop outside the sentence."""
        return self.words[i].tag if 0 <= i < len(self.words) else "."

    def piece(self, start: int, end: int) -> str:
        """Return the text from one word to another, as written."""
        if start >= end:
            return ""
        at = self.start
        return self.text[self.words[start].start - at : self.words[end - 1].end - at]


@cache
def kin() -> dict[str, str]:
    """Return relations by the words for relatives, seen from the person so called."""
    out: dict[str, str] = {}
    for relation, listed in table()["kin"].items():
        for word in str(listed).split():
            out.setdefault(word.replace("_", " "), relation)
    return out


def phrase(line: ParsedSentence, i: int, limit: int = 1 << 30) -> NounPhrase | None:
    """Return the noun phrase that begins at `i`, and ends before `limit`."""
    tag = line.tag(i)
    if tag == "P":
        low = line.low(i)
        return NounPhrase(i, i + 1, pronoun=low)
    found = NounPhrase(i, i)
    at = i
    if tag in {"D", "S"}:
        found.det = line.low(at)
        at += 1 + (line.tag(at + 1) == "D")
    if line.tag(at) == "w" and line.low(at) in _QUANTITIES and line.low(at + 1) == "of":
        at += 2
        if line.tag(at) in "DS":
            found.det = line.low(at)
            at += 1
    if line.tag(at) == "K" and line.tag(at + 1) == "'" and line.tag(at + 2) in "wK#":
        found.owner = line.words[at].text
        at += 2
    elif (
        found.det
        and line.tag(at) == "w"
        and line.tag(at + 1) == "'"
        and (line.low(at) in kin() or line.low(at) in words("animal", "pets"))
        and line.tag(at + 2) in "wK#"
    ):
        found.owner = f"{found.det} {line.low(at)}"  # "my brother's wife"
        found.det = ""
        at += 2
    return _read_quantity(line, found, at, limit)


def _read_quantity(line: ParsedSentence, found: NounPhrase, at: int, limit: int) -> NounPhrase | None:
    """Return numbers and quantifiers at the start of a phrase."""
    begin = at
    while line.tag(at) == "V" and line.low(at) in {"very", "really", "pretty", "quite", "so"} and found.det:
        at += 1
    if line.tag(at) == "#":
        found.number = line.low(at)
        if line.tag(at + 1) in "wK" and not line.low(at + 1).startswith(("year", "-")):
            at = begin = at + 1  # "two dogs" are dogs
    if found.det and line.low(at) == "own" and line.tag(at + 1) in "wVB":
        at = begin = at + 1
    return _body(line, found, at, begin, limit)


def _body(line: ParsedSentence, found: NounPhrase, at: int, begin: int, limit: int) -> NounPhrase | None:
    last_name = -1
    while at - begin < MOST_WORDS and at < limit:
        tag = line.tag(at)
        if tag == "K":
            last_name = at
        elif tag == "w":
            if last_name == at - 1 >= 0 and not found.det and line.low(at) not in _noun_after_name():
                break  # "gave Tom flowers"; but "an Oxfam shop"
            found.head = line.low(at)
        elif tag == "B" and at > begin and _noun_like(line, at):
            found.head = line.low(at)
        elif tag != "#" and not _goes_on_with(line, found, at, begin):
            break
        at += 1
    if at == begin or (
        at < limit and line.tag(at) == "'" and line.tag(at + 1) in "wK#" and line.tag(at - 1) == "w"
    ):
        return None  # nothing, or a possessive: "the city's music"
    found.end = at
    found.text = line.piece(begin, at)
    if last_name == at - 1:
        found.name = line.words[last_name]
        before = line.low(last_name - 1) if last_name > begin and line.tag(last_name - 1) == "w" else ""
        found.head = before if _is_noun(before) else ""
    return found


def _goes_on_with(line: ParsedSentence, found: NounPhrase, at: int, begin: int) -> bool:
    """Return True if a word that is not a noun belongs to the phrase: "a broken arm", "my working hours", "a small, quiet town"."""
    tag = line.tag(at)
    if tag == "B":
        return line.tag(at + 1) == "w" and (bool(found.det) if at == begin else line.low(at).endswith("ing"))
    if line.low(at) == "/":
        return at > begin and line.tag(at + 1) == "w"  # "a film/theatre producer"
    joins = tag == "," or line.low(at) in {"and", "but"}
    if (
        not joins
        or found.det not in {"a", "an"}
        or at == begin
        or line.tag(at + 1) != "w"
        or line.tag(at + 2) != "w"
    ):
        return False
    return not _is_noun(line.low(at - 1))


@cache
def _nouns() -> frozenset[str]:
    rooms = (
        ("occupation", "words"),
        ("race", "words"),
        ("animal", "pets"),
        ("thing", "place"),
        ("thing", "kind"),
        ("thing", "ownable"),
    )
    return frozenset(kin()).union(*(words(room, key) for room, key in rooms))


def _is_noun(low: str) -> bool:
    return low in _nouns() or low.endswith(("er", "or", "ist", "ion", "ment", "ness"))


def _noun_like(line: ParsedSentence, at: int) -> bool:
    """Return True for a word that could be a verb but follows a common noun and has no object: "iced drinks", "personalised learning"."""
    low, before = line.low(at), line.low(at - 1)
    if line.tag(at - 1) not in "wB" or before in kin() or line.tag(at + 1) not in ".,CVRW#":
        return False
    return low.endswith("s") or (low.endswith("ing") and before.endswith(("ed", *_ADJECTIVE)))


@cache
def _noun_after_name() -> frozenset[str]:
    """Return common nouns that a name may precede: "Netflix show", "Berlin office"."""
    kinds = (
        words("thing", "kind")
        | words("thing", "place")
        | words("occupation")
        | words("race")
        | words("animal", "pets")
    )
    return (
        kinds
        | frozenset(kin())
        | words("thing", "vehicle")
        | frozenset("fan fans area family store concert ticket tickets food".split())
    )


def phrase_before(line: ParsedSentence, end: int) -> NounPhrase | None:
    """Return the noun phrase that ends before `end`."""
    at = end - 1
    tag = line.tag(at)
    if tag == "P":
        return NounPhrase(at, end, pronoun=line.low(at))
    if tag not in "wK#":
        return None
    if tag == "K":
        start = at
        while end - start < MOST_WORDS and line.tag(start - 1) == "w":
            start -= 1
        if line.tag(start - 1) in "SD'":
            return _whole(line, start, end)
        if start < at and line.low(at - 1) in kin():
            return _whole(line, at - 1, end)
        return phrase(line, at)
    start = at
    while end - start <= MOST_WORDS and line.tag(start - 1) in "wK#":
        start -= 1
    return _whole(line, start, end)


def _whole(line: ParsedSentence, start: int, end: int) -> NounPhrase | None:
    before = line.tag(start - 1)
    if before == "'" and line.tag(start - 2) in "Kw" and start >= 2:
        start -= 2
        if line.tag(start - 1) == "S":
            start -= 1
    elif before in "DS":
        start -= 1
    found = phrase(line, start, end)
    return found if found is not None and found.end == end else None


_ADJECTIVE = ("ic", "al", "ish", "ese", "ful", "ous", "ern", "ive")


def object_phrases(line: ParsedSentence, at: int) -> list[NounPhrase]:
    """Return the noun phrase at `at`, and those joined to it by "and"."""
    out: list[NounPhrase] = []
    while len(out) < 5:
        while line.tag(at) == "V":
            at += 1
        found = phrase(line, at)
        if found is None or (found.pronoun and out) or (out and _begins_clause(line, found)):
            return out[:1] if found is not None and out else out
        if out and _half(out[-1]) and found.head != found.text.lower():
            out[-1].text, out[-1].head = (
                f"{out[-1].text} {found.head}",
                found.head,
            )  # "electronic and rock music"
        out.append(found)
        at = found.end
        if (line.low(at) == "," and line.tag(at + 1) in "wKDS#" and _goes_on(line, at + 1)) or line.low(
            at
        ) in {"and", "or"}:
            at += 1
        elif line.low(at) == "," and line.low(at + 1) in {"and", "or"}:
            at += 2
        else:
            break
    return out


def _begins_clause(line: ParsedSentence, found: NounPhrase) -> bool:
    """Return True if "and" begins another clause, not a further object: "… and my friend just came", "… and refurbished my desk"."""
    at = found.end
    while line.tag(at) == "V":
        at += 1
    return (
        line.tag(at) in "AB"
        or (found.head.endswith("ed") and line.tag(at) in "SDP")
        or (line.tag(at) == "w" and line.low(at).endswith("ed"))
    )


def _half(found: NounPhrase) -> bool:
    """Return True for an adjective whose noun follows in the next item."""
    return found.head == found.text.lower() and (
        found.head.endswith(_ADJECTIVE) or found.head in words("health")
    )


def _goes_on(line: ParsedSentence, at: int) -> bool:
    """Return True if a comma is followed by more of a list."""
    found = phrase(line, at)
    return found is not None and (
        line.low(found.end) in {"and", "or"}
        or (line.low(found.end) == "," and line.tag(found.end + 1) in "wKDS#C")
    )


def sort_of(found: NounPhrase) -> str:
    """Return the type of an unnamed thing that is liked or owned."""
    if found.head in words("animal", "pets") or found.head in words("animal", "wild"):
        return "animal"
    if found.head in words("thing", "place"):
        return "place"
    return "thing"
