"""The shapes of the graph that surfaces may know: views, exports, and the data of its page.

Owns next to no code: surfaces talk to the engine, and this is where it hands on what `graph` makes. Before: `graph/view`,
`graph/exports`, `graph/exports_page`. After: `surfaces/pages/graph`, the command line.
"""

from __future__ import annotations

from backscroll.derive.ontology import predicate, types
from backscroll.graph.complete import seed_shape
from backscroll.graph.exports import FORMATS, evidence_json, fact_json, to_json, written
from backscroll.graph.exports_page import page_data
from backscroll.graph.fold import Graph
from backscroll.graph.view import Evidence, Fact, NodeView, WorldEntry

__all__ = [
    "FORMATS",
    "Evidence",
    "Fact",
    "Graph",
    "NodeView",
    "WorldEntry",
    "evidence_json",
    "fact_json",
    "page_data",
    "predicate_words",
    "seed_shape",
    "to_json",
    "type_words",
    "written",
]


def predicate_words(name: str, language: str) -> str:
    """What an attribute or relation is called."""
    known = predicate(name)
    return known.zh if language == "zh" else known.en


def type_words(name: str, language: str) -> str:
    """What a type of node is called."""
    known = types().get(name)
    return name if known is None else known.zh if language == "zh" else known.en
