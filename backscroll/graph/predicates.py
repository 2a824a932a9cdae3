"""Predicates as the fold needs them: one direction for each relation, who may have only one, what ends what.

A relation and its inverse are one thing; it is folded in one direction (the one in which it has a single value, if any) and
seen from both ends. Tables: `derive/ontology.toml`, `rules.toml`. Before: `derive/extract/ontology`. After: `graph/index`, `graph/facts`.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources

from backscroll.derive.extract.ontology import predicate
from backscroll.vocab.part import Json


@cache
def rules() -> dict[str, dict[str, Json]]:
    """The table beside this module."""
    return tomllib.loads(resources.files("backscroll.graph").joinpath("rules.toml").read_text("utf-8"))


@dataclass(frozen=True, slots=True)
class Direction:
    """A predicate in the direction in which it is folded."""

    name: str
    flipped: bool = False  # it was said in the other direction
    symmetric: bool = False
    inverse: str = ""
    subject_one: bool = False  # a subject has one object (or value) at a time
    object_one: bool = False  # an object has one subject at a time
    opposites: tuple[str, ...] = ()

    @property
    def exclusive(self) -> bool:
        """True where one of the ends may have only one."""
        return self.subject_one or self.object_one


@lru_cache(maxsize=4096)
def direction(name: str) -> Direction:
    """How a predicate is folded."""
    known = predicate(name)
    if known.inverse and not known.symmetric:
        other = predicate(known.inverse)
        if (other.single, known.name) > (known.single, other.name):
            return _folded(other.name, flipped=True)
    return _folded(known.name, flipped=False)


def _folded(name: str, *, flipped: bool) -> Direction:
    known = predicate(name)
    opposites = tuple(str(o) for o in rules()["opposites"].get(name, ()))
    back = predicate(known.inverse) if known.inverse else None
    return Direction(
        name,
        flipped,
        known.symmetric,
        known.inverse,
        subject_one=known.single or bool(back and back.owner),
        object_one=known.owner or (known.symmetric and known.single) or bool(back and back.single),
        opposites=opposites,
    )


@lru_cache(maxsize=4096)
def named(name: str) -> str:
    """A predicate as it is written: lower case, underscores."""
    return "_".join(name.casefold().split())


@cache
def _domains() -> dict[str, frozenset[str]]:
    return {
        str(name): frozenset(kinds.split()) for kinds, names in rules()["domains"].items() for name in names
    }


@cache
def listed() -> frozenset[str]:
    """Predicates with one value, of which a sentence may still list several."""
    return frozenset(str(name) for name in rules()["lists"]["predicates"])


@cache
def _adding() -> re.Pattern[str]:
    return re.compile(str(rules()["lists"]["also"]), re.IGNORECASE)


def adds(sentence: str) -> bool:
    """True where a sentence says that something comes on top of what was said before."""
    return _adding().search(sentence) is not None


@cache
def venues() -> frozenset[str]:
    """Predicates of a park or a shop, which no region has."""
    return frozenset(str(name) for name in rules()["venues"]["predicates"])


def suits(type: str, name: str) -> bool:
    """False where a predicate is none of this type: a country has no box office. What is not known does not speak against it."""
    kinds = _domains().get(name)
    return kinds is None or type in ("", "thing", "concept") or type in kinds
