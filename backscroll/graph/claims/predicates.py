"""Predicates for the fold: one direction for each relation, which ends are exclusive, what ends what.

A relation and its inverse are one; it is folded in one direction (the one in which it has a single value, if any) and seen
from both ends. Tables: `derive/ontology.toml`, `rules.toml`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache

from backscroll.derive.extract.ontology import predicate
from backscroll.vocab.part import Json
from backscroll.vocab.values.table import read_table


@cache
def rules() -> dict[str, dict[str, Json]]:
    """Return the table beside this module."""
    return read_table("backscroll.graph", "rules.toml")


@dataclass(frozen=True, slots=True)
class PredicateDirection:
    """A predicate in the direction in which it is folded."""

    name: str
    flipped: bool = False  # the claim uses the other direction
    symmetric: bool = False
    inverse: str = ""
    subject_one: bool = False  # a subject has one object (or value) at a time
    object_one: bool = False  # an object has one subject at a time
    opposites: tuple[str, ...] = ()

    @property
    def exclusive(self) -> bool:
        """True if one of the ends may have only one."""
        return self.subject_one or self.object_one


@lru_cache(maxsize=4096)
def direction(name: str) -> PredicateDirection:
    """Return the direction in which a predicate is folded."""
    known = predicate(name)
    if known.inverse and not known.symmetric:
        other = predicate(known.inverse)
        if (other.single, known.name) > (known.single, other.name):
            return _make_direction(other.name, flipped=True)
    return _make_direction(known.name, flipped=False)


def _make_direction(name: str, *, flipped: bool) -> PredicateDirection:
    known = predicate(name)
    opposites = tuple(str(o) for o in rules()["opposites"].get(name, ()))
    back = predicate(known.inverse) if known.inverse else None
    return PredicateDirection(
        name,
        flipped,
        known.symmetric,
        known.inverse,
        subject_one=known.single or bool(back and back.owner),
        object_one=known.owner or (known.symmetric and known.single) or bool(back and back.single),
        opposites=opposites,
    )


@lru_cache(maxsize=4096)
def normalize_predicate(name: str) -> str:
    """Normalize a predicate: lower case, underscores."""
    return "_".join(name.casefold().split())


@cache
def _domains() -> dict[str, frozenset[str]]:
    return {
        str(name): frozenset(kinds.split()) for kinds, names in rules()["domains"].items() for name in names
    }


@cache
def load_list_predicates() -> frozenset[str]:
    """Return single-valued predicates of which a sentence may still list several values."""
    return frozenset(str(name) for name in rules()["lists"]["predicates"])


@cache
def _adding() -> re.Pattern[str]:
    return re.compile(str(rules()["lists"]["also"]), re.IGNORECASE)


def adds(sentence: str) -> bool:
    """Return True if a sentence adds to what was said before instead of replacing it."""
    return _adding().search(sentence) is not None


@cache
def venues() -> frozenset[str]:
    """Return predicates of venues such as a park or a shop, which no region has."""
    return frozenset(str(name) for name in rules()["venues"]["predicates"])


def suits(type: str, name: str) -> bool:
    """Return False if a predicate does not fit the type: a country has no box office. An unknown type fits."""
    kinds = _domains().get(name)
    return kinds is None or type in ("", "thing", "concept") or type in kinds
