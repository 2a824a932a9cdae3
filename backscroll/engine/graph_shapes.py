"""The shapes of the graph that surfaces may know: views, exports, and the data of its page.

Owns no code: surfaces talk to the engine, and this is where it hands on what `graph` makes. Before: `graph/view`,
`graph/exports`, `graph/exports_page`. After: `surfaces/pages/graph`, the command line.
"""

from __future__ import annotations

from backscroll.graph.complete import seed_shape
from backscroll.graph.exports import FORMATS, evidence_json, fact_json, to_json, written
from backscroll.graph.exports_page import page_data
from backscroll.graph.view import Fact, NodeView, WorldEntry

__all__ = [
    "FORMATS",
    "Fact",
    "NodeView",
    "WorldEntry",
    "evidence_json",
    "fact_json",
    "page_data",
    "seed_shape",
    "to_json",
    "written",
]
