"""The words of world descriptions: labels of fields, nouns that show a type, kinds and their comparison.

Owns reading `world.toml`, and when a kind ("elves of the forest") covers a value ("Forest Elf"). Not here: sentences (`world/en`,
`world/zh`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import NamedTuple, cast

from backscroll.derive.extract.ontology import labels
from backscroll.vocab.values.pattern import late
from backscroll.vocab.values.table import read_table

_SPACE = late(r"\s+")
_OUTER = " \t\r\n\"'*_`.,;:!?。，；：！？、"
_PAIRS = {"“": "”", "‘": "’", "「": "」", "『": "』", "《": "》", "(": ")", "（": "）", "[": "]", "【": "】"}
_ROUNDS = 20  # brackets around a name that are removed
_CLOSING = {closing: opening for opening, closing in _PAIRS.items()}
_ARTICLE = late(r"^(?:the|a|an|all|every|each|most|many|some|any|these|those|our|their)\s+", re.IGNORECASE)
_HAN = late(r"[\u3400-\u9fff\uf900-\ufaff]")
_SLUG = late(r"[^\w]+")
_IRREGULAR = {
    "elves": "elf",
    "dwarves": "dwarf",
    "wolves": "wolf",
    "thieves": "thief",
    "men": "man",
    "women": "woman",
    "people": "people",
    "children": "child",
    "halves": "half",
    "leaves": "leaf",
    "lives": "life",
    "knives": "knife",
    "fae": "fae",
    "species": "species",
    "wives": "wife",
}


class WorldStatement(NamedTuple):
    """One statement of a description; an empty subject means the entry's own."""

    subject: str
    predicate: str
    value: str


class Noun(NamedTuple):
    """What a noun states about its bearer."""

    type: str
    predicate: str  # race, occupation, kind


@cache
def table() -> Mapping[str, Mapping[str, object]]:
    """Return the data file."""
    return read_table("backscroll.graph", "world.toml")


@cache
def words(section: str) -> Mapping[str, tuple[str, ...]]:
    """Return a section of lists of words."""
    return {name: tuple(cast("list[str]", value)) for name, value in table()[section].items()}


def tidy(text: str) -> str:
    """Return a name or value without quotes, surrounding punctuation, double spaces and unbalanced brackets."""
    text = _SPACE.sub(" ", text)
    for _ in range(_ROUNDS):
        text = text.strip(_OUTER)
        if not text:
            break
        first, last = text[0], text[-1]
        if _PAIRS.get(first) == last and len(text) > 1:
            text = text[1:-1]
        elif first in _CLOSING or (first in _PAIRS and _PAIRS[first] not in text):
            text = text[1:]
        elif last in _PAIRS or (last in _CLOSING and _CLOSING[last] not in text):
            text = text[:-1]
        else:
            break
    return text


def plain(text: str) -> str:
    """Return a text for comparing: tidy, in lower case, without article."""
    return _ARTICLE.sub("", tidy(unicodedata.normalize("NFKC", text)).casefold(), count=1).strip()


def is_han(text: str) -> bool:
    """Return True if a text contains Chinese characters."""
    return _HAN.search(text) is not None


def singular(word: str) -> str:
    """Return an English word in the singular, as far as spelling shows it."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ches", "shes", "xes", "sses")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def form_of(name: str) -> str:
    """Return a name for comparing, in the singular: the Shadowfangs and a shadowfang match."""
    said = plain(name).split()
    return " ".join([*said[:-1], singular(said[-1])]) if said else ""


@cache
def _fields() -> dict[str, str]:
    out = dict(labels())
    for predicate, names in words("fields").items():
        out |= dict.fromkeys(names, predicate)
    return out


def predicate_of(label: str) -> str:
    """Return the predicate of a field label; unknown labels become predicates of their own."""
    key = plain(label.replace("_", " "))
    if (known := _fields().get(key)) is not None:
        return known
    return _SLUG.sub("_", key).strip("_")


def is_field(label: str) -> bool:
    """Return True for known labels."""
    return plain(label.replace("_", " ")) in _fields()


@cache
def _nouns() -> dict[str, Noun]:
    out: dict[str, Noun] = {}
    for kind, names in words("nouns").items():
        noun = Noun("person", kind) if kind in {"race", "occupation"} else Noun(kind, "kind")
        for name in names:
            out.setdefault(name, noun)
    return out


@cache
def _han_nouns() -> tuple[tuple[str, Noun], ...]:
    found = [(word, noun) for word, noun in _nouns().items() if is_han(word)]
    return tuple(sorted(found, key=lambda pair: (-len(pair[0]), pair[0])))


def noun_of(phrase: str) -> Noun | None:
    """Return what the head of a noun phrase states: "young forest elf" is an elf."""
    if is_han(phrase):
        bare = phrase.removesuffix("们").removesuffix("一族")
        return next((noun for word, noun in _han_nouns() if bare.endswith(word)), None)
    key = plain(phrase)
    if not _software().isdisjoint(key.split()):
        return Noun("project", "kind")
    return _nouns().get(_head(key))


@cache
def _software() -> frozenset[str]:
    return frozenset(words("software")["words"])


def _head(phrase: str) -> str:
    """Return the head of a phrase: the last word before "of", "who", "with", a comma."""
    first = re.split(r"\s+(?:of|who|which|that|with|from|in|at|on|near)\s+|[,(]", phrase, maxsplit=1)[
        0
    ].split()
    return singular(first[-1]) if first else ""


@cache
def _categories() -> dict[str, str]:
    return {word: kind for kind, names in words("categories").items() for word in names}


def type_of_category(category: str) -> str:
    """Return the type for a category of a book; empty if it shows none."""
    return _categories().get(plain(category), "")


@cache
def telling_fields() -> frozenset[str]:
    """Return attributes that only people have."""
    return frozenset(words("fields_of_type")["person"])


@cache
def adjectives() -> Mapping[str, tuple[str, str]]:
    """Map each adjective to its predicate and value."""
    sections = cast("dict[str, dict[str, list[str]]]", table()["adjectives"])
    return {
        word: (predicate, value)
        for predicate, values in sections.items()
        for value, names in values.items()
        for word in names
    }


@lru_cache(maxsize=4096)
def kind_words(text: str) -> tuple[str, frozenset[str]]:
    """Return the head of a kind and all its words: ("elf", {"elf", "forest"}) for "Elves of the forest"."""
    key = plain(text)
    if is_han(key):
        bare = key.removesuffix("们").removesuffix("一族").removesuffix("族") or key
        return bare, frozenset([bare])
    all_words = [singular(w) for w in re.findall(r"[\w'-]+", key) if w not in {"of", "the", "and", "a", "an"}]
    return _head(key), frozenset(all_words)


def covers(kind: str, value: str) -> bool:
    """Return True if statements about a kind hold for this value: "elves" for "Forest Elf", "精灵" for "森林精灵"."""
    head, wanted = kind_words(kind)
    other, given = kind_words(value)
    if not head or not other:
        return False
    if is_han(kind) or is_han(value):
        return other.endswith(head)
    return head == other and wanted <= given


def is_kind(name: str, kind: str) -> bool:
    """Return True if a name stands for many ("elves", "精灵"), False for an individual ("the King" is a person)."""
    noun = noun_of(name)
    if noun is not None and noun.predicate == "race":
        return True
    if kind in {"person", "place", "thing", "work", "event", "project"}:
        return not is_han(name) and _plural(name) and noun is not None
    return kind != "" or is_han(name) or _plural(name)


def _plural(name: str) -> bool:
    words_ = re.split(r"\s+(?:of|from|in)\s+", plain(name), maxsplit=1)[0].split()
    return bool(words_) and (singular(words_[-1]) != words_[-1] or words_[-1] == "people")
