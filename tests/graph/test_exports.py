"""Graph exports: well formed whatever the text, complete, and deterministic."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.errors import InvalidInput
from backscroll.formats.lorebooks.reader import read_lorebook
from backscroll.formats.sources.json_text import dumps
from backscroll.graph.reading.exports import (
    FORMATS,
    render_graph,
    to_graphml,
    to_json,
    to_lorebook,
    to_mermaid,
)
from backscroll.graph.reading.page import MOST_NODES, page_data
from backscroll.graph.view import Fact, NodeView
from backscroll.graph.world.description import world_entries
from tests.graph.graphs import HOSTILE, graph, number

XML = "{http://graphml.graphdrawing.org/xmlns}"


def test_json_export_has_shape_and_reasons() -> None:
    """Each node in the notes' shape, every fact with rank, turns and evidence, every relation once."""
    data = to_json(*graph(), number)
    ellie = data["nodes"][0]
    assert (ellie["id"], ellie["node_id"], ellie["type"]) == ("ellie", "ellie_forest_elf", "person")
    assert ellie["world_context_attributes"]["interaction_history"][0] == {"turn": 3, "line": "She is calm."}
    mood, title, status = ellie["attributes"][:3]
    assert mood["evidence"] == [
        {"turn": 3, "quote": "She is calm.", "speaker": "user", "source": f"{'c' * 32}.9", "says": "calm"}
    ]
    assert mood["contested"][0]["turn"] == 4
    assert (title["rank"], title["pinned"], title["evidence"][0]["author"]) == ("person", True, "anna")
    assert status["inferred"] is True
    assert [(r["node"], r["predicate"], r["object"], r.get("until")) for r in data["relations"]] == [
        ("ellie", "lives_in", "mistwood", None),
        ("ellie", "works_at", "mistwood", 3),
        ("ellie", "comes_from", "north", None),
    ]
    dumps(data).encode()


def test_graphml_is_valid() -> None:
    """Keys are declared with types, ends of edges exist, related nodes outside the selection are included by name."""
    root = ET.fromstring(to_graphml(*graph(), number))
    keys = {
        key.get("id"): (key.get("for"), key.get("attr.name"), key.get("attr.type"))
        for key in root.iter(f"{XML}key")
    }
    assert keys["k0"] == ("node", "name", "string")
    assert keys["e_since"] == ("edge", "since", "int")
    nodes = {
        node.get("id"): {keys[d.get("key")][1]: d.text for d in node.iter(f"{XML}data")}
        for node in root.iter(f"{XML}node")
    }
    assert nodes["ellie_forest_elf"]["skill"] == "song; bow"
    assert nodes["ellie_forest_elf"]["type"] == "person"
    assert nodes["ellie_forest_elf"]["attribute_type"] == "elf"
    assert "The North" in {data["name"] for data in nodes.values()}
    assert "艾莉" in nodes
    edges = list(root.iter(f"{XML}edge"))
    assert len(edges) == 3
    for edge in edges:
        assert {edge.get("source"), edge.get("target")} <= set(nodes)
        for data in edge.iter(f"{XML}data"):
            if keys[data.get("key")][2] == "int":
                int(data.text or "")


@pytest.mark.parametrize("words", [HOSTILE, "艾莉", "", "a\nb", "<b>&amp;</b>"])
def test_hostile_text_stays_text(words: str) -> None:
    """XML and JSON parse, a drawing keeps its lines, a lorebook reads back; all can be encoded as UTF-8."""
    nodes, relations = graph(words)
    for shape in FORMATS:
        render_graph(shape, nodes, relations, number).encode()
    root = ET.fromstring(to_graphml(nodes, relations, number))
    assert {child.tag for child in root.iter()} <= {
        f"{XML}{tag}" for tag in ("graphml", "key", "graph", "node", "edge", "data")
    }
    json.loads(render_graph("json", nodes, relations, number))
    drawing = to_mermaid(nodes, relations, number).splitlines()
    node = re.compile(r'  n\d+\["[^"\[\]{}|`<>]*(?:<br/><small>[^"\[\]{}|`<>]*</small>)?"\]')
    edge = re.compile(r'  n\d+ (?:-->|-\.->)\|"[^"\[\]{}|`<>]*"\| n\d+')
    assert drawing[0] == "graph LR"
    assert all(node.fullmatch(line) or edge.fullmatch(line) for line in drawing[1:]), drawing
    assert len(read_lorebook(to_lorebook(nodes, relations, number), "g.json")) == 3


@given(st.text(max_size=30))
def test_any_words_give_sound_shapes(words: str) -> None:
    nodes, relations = graph(words)
    ET.fromstring(to_graphml(nodes, relations, number))
    assert len([line for line in to_mermaid(nodes, relations, number).split("\n") if line]) == 1 + 4 + 2
    dumps(page_data(nodes, relations, number)).encode()


def test_drawing_shows_current_facts() -> None:
    """Ended relations are not drawn, assumed ones are dashed."""
    text = to_mermaid(*graph(), number)
    assert 'n0 -->|"lives in"| n1' in text
    assert 'n0 -.->|"comes from"| n3' in text
    assert "works at" not in text
    assert 'n2["艾莉"]' in text


def test_drawing_of_a_large_graph_is_partial() -> None:
    """It shows the best connected part and says what is missing."""
    nodes = [NodeView(f"n{i}", f"n{i}", f"N{i}", "thing") for i in range(400)]
    relations = [Fact("n0", "related_to", object=f"n{i}") for i in range(1, 400)]
    text = to_mermaid(nodes, relations, number)
    assert "%% left out: 250 nodes, 250 relations" in text
    assert text.count("-->") == 149


def test_corrected_graph_round_trips_as_a_lorebook() -> None:
    """Facts come back as the same predicates; defaults stay out."""
    nodes, relations = graph()
    ellie, _, _ = world_entries(read_lorebook(to_lorebook(nodes, relations, number), "g.json"))
    assert ellie.keys == ("Ellie calm", "El calm")
    assert ellie.type == "person"
    assert {
        ("mood", "calm"),
        ("title", "calm"),
        ("skill", "song"),
        ("skill", "bow"),
        ("lives_in", "Mistwood"),
    } <= set(ellie.attributes)
    assert "status" not in dict(ellie.attributes)
    assert "alive" not in ellie.text


def test_unknown_export_format_is_refused() -> None:
    with pytest.raises(InvalidInput, match="dot") as caught:
        render_graph("dot", [], [], number)
    assert "mermaid" in caught.value.hint


@pytest.mark.parametrize("shape", FORMATS)
def test_empty_graph_can_be_exported(shape: str) -> None:
    assert render_graph(shape, [], [], number)
    assert render_graph(shape, *graph(), number) == render_graph(shape, *graph(), number)


def test_page_data_has_labels_facts_and_reasons() -> None:
    """Labels in the language asked for, facts by rank with their reasons, and past facts."""
    nodes, relations = graph()
    data = page_data(nodes, relations, number, "zh", {"ellie": [relations[1], relations[0]]})
    ellie = data["nodes"][0]
    assert [(f["label"], f["rank"]) for f in ellie["facts"][:3]] == [
        ("心情", "said"),
        ("头衔", "person"),
        ("状态", "assumed"),
    ]
    assert ellie["facts"][0]["why"] == [{"turn": 3, "quote": "She is calm.", "by": "user"}]
    assert ellie["facts"][1]["why"] == [{"by": "anna", "at": "2026-01-01T00:00:00+00:00"}]
    assert ellie["facts"][-1] == {
        "label": "来自",
        "value": "The North",
        "rank": "assumed",
        "why": [{"note": "world: Aldor"}],
    }
    assert [(f["label"], f["until"]) for f in ellie["history"]] == [("在～工作", 3)]
    assert [(e["from"], e["to"]) for e in data["edges"]] == [(0, 1), (0, 1)]
    assert data["types"][0] == {"id": "", "label": "", "count": 1}


def test_page_data_is_limited() -> None:
    nodes = [NodeView(f"n{i}", f"n{i}", f"N{i}", "thing") for i in range(MOST_NODES + 5)]
    last = nodes[-1].id
    data = page_data(nodes, [Fact("n0", "related_to", object=last)], number)
    assert (len(data["nodes"]), data["left_out"]) == (MOST_NODES, 5)
    assert data["edges"][0]["to"] == MOST_NODES - 1
