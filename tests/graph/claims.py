"""Turns and claims in few words, for tests of the graph; everything that a graph tells, as one value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from backscroll.graph.fold import Graph
from backscroll.vocab.assertion import Assertion, Change, Claim, Override, TurnClaims
from backscroll.vocab.ids import Ref

THREAD = "a" * 32


def ref(number: int) -> Ref:
    """The opening of a turn."""
    return Ref(THREAD, number)


def turn(number: int, *claims: Assertion) -> TurnClaims:
    """A turn at the place that its number says."""
    return TurnClaims(ref(number), number.to_bytes(4, "big"), claims)


def node(name: str, type: str = "", **more: Any) -> Assertion:
    """There is something."""
    return Assertion(Claim.NODE, name, type=type, **more)


def person(name: str, **more: Any) -> Assertion:
    """There is somebody."""
    return node(name, "person", **more)


def has(name: str, predicate: str, value: str, **more: Any) -> Assertion:
    """An attribute."""
    return Assertion(Claim.ATTRIBUTE, name, predicate, value, **more)


def is_(name: str, predicate: str, other: str, **more: Any) -> Assertion:
    """A relation."""
    return Assertion(Claim.RELATION, name, predicate, object=other, **more)


def ends(name: str, predicate: str, other: str = "", value: str = "", **more: Any) -> Assertion:
    """An end."""
    return Assertion(Claim.END, name, predicate, value, other, **more)


def alias(name: str, other: str, **more: Any) -> Assertion:
    """Another name."""
    return Assertion(Claim.ALIAS, name, value=other, **more)


def override(change: Change | str, name: str, predicate: str = "", value: str = "", **more: Any) -> Override:
    """A person's change."""
    return Override(Change(change), name, predicate, value, **more)


def now(graph: Graph, name: str, predicate: str) -> list[str]:
    """What holds: values, or ids of other nodes."""
    view = graph.node(name)
    facts = [f for f in (*view.attributes, *view.relations) if f.predicate == predicate]
    return [f.value or f.object for f in facts if f.rank.value in ("said", "person")]


def told(graph: Graph) -> dict[str, Any]:
    """Everything that a graph tells."""
    ids = graph.ids()
    return {
        "ids": ids,
        "nodes": graph.nodes(),
        "history": [graph.history(name) for name in ids],
        "why": [graph.why(name) for name in ids],
        "around": [graph.around([name], depth=2, limit=5) for name in ids],
        "members": [graph.members(name) for name in ids],
        "conflicts": graph.conflicts(),
        "suggestions": graph.suggestions(),
        "questions": graph.questions(),
        "unsettled": graph.unsettled,
        "mentioned": graph.find_mentioned_nodes("Ellie and Tom Hill saw 艾莉, 小王, 王小明 near Oak"),
    }


def strings(value: Any) -> Iterator[str]:
    """Every string inside a value."""
    if isinstance(value, str):
        yield value
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from strings(getattr(value, field.name))
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from strings(key)
            yield from strings(inner)
    elif isinstance(value, list | tuple | set | frozenset):
        for inner in value:
            yield from strings(inner)
