"""The types of the graph that surfaces may use: views, exports, and the data of its page.

Owns almost no code: surfaces may import only the engine, so this module re-exports what `graph` defines.
"""

from __future__ import annotations

from collections.abc import Callable

from backscroll.deprecation import warn_renamed
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
    """Return the display name of an attribute or relation."""
    known = predicate(name)
    return known.zh if language == "zh" else known.en


def type_words(name: str, language: str) -> str:
    """Return the display name of a type of node."""
    known = types().get(name)
    return name if known is None else known.zh if language == "zh" else known.en


def type_names() -> tuple[str, ...]:
    """Return every known type of node."""
    return tuple(types())


def inverse_of(name: str) -> str:
    """Return the name of a relation seen from its other node; empty if it has none."""
    known = predicate(name)
    return name if known.symmetric else known.inverse


def node_json(node: NodeView, number: Callable[[Ref], int], named: Callable[[str], str]) -> dict[str, Json]:
    """Return a node as JSON: its id, other names, and attributes with their evidence."""
    return {
        "id": node.id,
        **seed_shape(node, number, named),
        "name": node.name,
        "aliases": list(node.aliases),
        "attributes": [fact_json(fact, number) for fact in node.attributes],
        "overridden": node.overridden,
    }


def __getattr__(name: str) -> object:
    """Return `render_graph` by its old name, `written`: deprecated, for one release."""
    if name == "written":
        warn_renamed("written", "render_graph")
        return render_graph
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
