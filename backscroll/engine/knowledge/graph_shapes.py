"""The shapes of the graph that surfaces may know: views, exports, and the data of its page.

Owns next to no code: surfaces talk to the engine, and this is where it hands on what `graph` makes.
"""

from __future__ import annotations

from collections.abc import Callable

from backscroll.derive.extract.ontology import predicate, types
from backscroll.engine.knowledge.graph_acts import known_type, predicate_meant
from backscroll.graph.fold import Graph
from backscroll.graph.reading.exports import FORMATS, evidence_json, fact_json, render_graph, to_json
from backscroll.graph.reading.page import page_data
from backscroll.graph.view import Evidence, Fact, NodeView, WorldEntry
from backscroll.graph.world.completion import seed_shape
from backscroll.vocab.ids import Ref
from backscroll.vocab.part import Json

__all__ = [
    "FORMATS",
    "Evidence",
    "Fact",
    "Graph",
    "NodeView",
    "WorldEntry",
    "evidence_json",
    "fact_json",
    "inverse_of",
    "known_type",
    "node_json",
    "page_data",
    "predicate_meant",
    "predicate_words",
    "render_graph",
    "seed_shape",
    "to_json",
    "type_names",
    "type_words",
]


def predicate_words(name: str, language: str) -> str:
    """Return what an attribute or relation is called."""
    known = predicate(name)
    return known.zh if language == "zh" else known.en


def type_words(name: str, language: str) -> str:
    """Return what a type of node is called."""
    known = types().get(name)
    return name if known is None else known.zh if language == "zh" else known.en


def type_names() -> tuple[str, ...]:
    """Return every known type of node."""
    return tuple(types())


def inverse_of(name: str) -> str:
    """Return what a relation is called from its other end; empty if it has no name there."""
    known = predicate(name)
    return name if known.symmetric else known.inverse


def node_json(node: NodeView, number: Callable[[Ref], int], named: Callable[[str], str]) -> dict[str, Json]:
    """Return a node in the shape of the design notes, with its id, its other names, and its attributes with what they rest on."""
    return {
        "id": node.id,
        **seed_shape(node, number, named),
        "name": node.name,
        "aliases": list(node.aliases),
        "attributes": [fact_json(fact, number) for fact in node.attributes],
        "overridden": node.overridden,
    }
