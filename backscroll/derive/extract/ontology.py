"""The ontology: types of nodes, attributes and relations, as data (`ontology.toml`).

Owns what folding needs to know about a predicate: whether it has one value at a time, its inverse, its labels
in English and Chinese. Unknown predicates are allowed: they have many values and no inverse.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from backscroll.vocab.values.table import read_table


@dataclass(frozen=True, slots=True)
class Predicate:
    """The definition of an attribute or a relation."""

    name: str
    single: bool = False  # one value at a time: the latest wins
    symmetric: bool = False
    inverse: str = ""  # the predicate seen from the other end
    owner: bool = False  # the object has one such subject at a time: a thing that is given away
    en: str = ""
    zh: str = ""


@dataclass(frozen=True, slots=True)
class NodeType:
    """A node type and the default attributes of its nodes."""

    name: str
    en: str
    zh: str
    defaults: Mapping[str, str]


@cache
def _table() -> dict[str, dict[str, dict[str, object]]]:
    return read_table("backscroll.derive", "ontology.toml")


@cache
def types() -> Mapping[str, NodeType]:
    """Return every known type."""
    out: dict[str, NodeType] = {}
    for name, facts in _table()["types"].items():
        defaults = facts.get("defaults", {})
        assert isinstance(defaults, dict)
        told = {str(k): str(v) for k, v in defaults.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        out[name] = NodeType(name, str(facts.get("en", name)), str(facts.get("zh", name)), told)
    return out


@cache
def _predicates() -> Mapping[str, Predicate]:
    out: dict[str, Predicate] = {}
    for room in ("attributes", "relations"):
        for name, facts in _table()[room].items():
            out[name] = Predicate(
                name,
                single=bool(facts.get("single")),
                symmetric=bool(facts.get("symmetric")),
                inverse=str(facts.get("inverse", "")),
                owner=bool(facts.get("owner")),
                en=str(facts.get("en", name.replace("_", " "))),
                zh=str(facts.get("zh", name)),
            )
    return out


def predicate(name: str) -> Predicate:
    """Return the definition of a predicate; an unknown one has many values and no inverse."""
    known = _predicates().get(name)
    if known is not None:
        return known
    # people have one favourite food at a time, whatever the noun
    return Predicate(name, single=name.startswith("favourite_"), en=name.replace("_", " "), zh=name)


def is_relation(name: str) -> bool:
    """Return True for known relations."""
    return name in _table()["relations"]


def labels() -> Mapping[str, str]:
    """Return the labels of the known predicates, in English and Chinese (without the place of the other end) → predicate."""
    out: dict[str, str] = {}
    for name, known in _predicates().items():
        for label in (name, known.en, known.zh.replace("…", "")):
            out.setdefault(label.replace("_", " ").casefold(), name)
    return out


def attribute_names() -> tuple[str, ...]:
    """Return every known attribute."""
    return tuple(_table()["attributes"])


def relation_names() -> tuple[str, ...]:
    """Return every known relation."""
    return tuple(_table()["relations"])
