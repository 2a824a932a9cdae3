"""Exports of the graph: JSON, GraphML, Mermaid, and a lorebook for role-play programs.

Owns escaping: whatever a conversation says, the output is well formed and contains no injected markup. The same graph gives the
same bytes. Not here: choosing what to show, and files.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from backscroll.derive.extract.ontology import predicate
from backscroll.errors import InvalidInput
from backscroll.formats.lorebooks.reader import LoreEntry, write_lorebook
from backscroll.formats.sources.json_text import dumps
from backscroll.graph.reading.words import one_line
from backscroll.graph.view import Evidence, Fact, NodeView, Rank
from backscroll.graph.world.completion import NOWHERE, seed_shape
from backscroll.vocab.ids import Ref
from backscroll.vocab.part import Json

FORMATS = ("json", "graphml", "mermaid", "lorebook")
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TOKEN = re.compile(r"[A-Za-z_\u3400-\u9fff][\w.-]*\Z")
_MERMAID = re.compile(r"[^\w\s,.:;!?()'/+=@%，。、；：！？（）《》“”·…-]")
_NODES, _EDGES = 150, 400  # readable in a drawing, and below Mermaid's own limits
_LONGEST_LABEL = 48
Number = Callable[[Ref], int]


def render_graph(shape: str, nodes: Sequence[NodeView], relations: Sequence[Fact], number: Number) -> str:
    """Return the graph as text in one of `FORMATS`."""
    if shape == "json":
        return dumps(to_json(nodes, relations, number), indent=2) + "\n"
    makers = {"graphml": to_graphml, "mermaid": to_mermaid, "lorebook": to_lorebook}
    if shape not in makers:
        raise InvalidInput(f"a graph cannot be written as {shape}", hint=f"one of {', '.join(FORMATS)}")
    return makers[shape](nodes, relations, number)


def to_json(nodes: Sequence[NodeView], relations: Sequence[Fact], number: Number) -> dict[str, Json]:
    """Return everything, with evidence: each node as in the design notes, and its facts in full."""
    names = _collect_names(nodes, every_relation(nodes, relations))
    return {
        "nodes": [
            {
                "id": node.id,
                **seed_shape(node, number, lambda id_: names.get(id_, id_)),
                "type": node.type,
                "name": node.name,
                "aliases": list(node.aliases),
                "attributes": [fact_json(fact, number) for fact in node.attributes],
                "overridden": node.overridden,
            }
            for node in nodes
        ],
        "relations": [fact_json(fact, number) for fact in every_relation(nodes, relations)],
    }


def fact_json(fact: Fact, number: Number) -> dict[str, Json]:
    """Return one fact with its evidence; empty fields are left out."""
    out: dict[str, Json] = {"node": fact.node, "predicate": fact.predicate}
    out |= {"object": fact.object} if fact.object else {}
    out |= {"value": fact.value} if fact.value else {}
    out["rank"] = fact.rank.value
    out |= {"inferred": True} if fact.rank in (Rank.WORLD, Rank.DEFAULT) else {}
    for field, turn in (("since", fact.since), ("until", fact.until)):
        out |= {field: number(turn)} if turn not in (None, NOWHERE) else {}
    out |= {"sure": fact.sure} if fact.sure != 1.0 else {}
    out |= {"pinned": True} if fact.pinned else {}
    out |= {"derived": True} if fact.derived else {}
    out |= {"evidence": [evidence_json(e, number) for e in fact.evidence]} if fact.evidence else {}
    out |= {"contested": [evidence_json(e, number) for e in fact.contested]} if fact.contested else {}
    return out


def evidence_json(evidence: Evidence, number: Number) -> dict[str, Json]:
    """Return one piece of evidence: the quote with its speaker and message, the override, or the note on an inference."""
    out: dict[str, Json] = {}
    if evidence.opening != NOWHERE and evidence.override is None:
        out["turn"] = number(evidence.opening)
    if (claim := evidence.assertion) is not None:
        out |= {"quote": claim.quote} if claim.quote else {}
        out |= {"speaker": claim.speaker} if claim.speaker else {}
        out |= {"source": str(claim.source)} if claim.source is not None else {}
        out |= {"says": claim.value or claim.object} if claim.value or claim.object else {}
    if (override := evidence.override) is not None:
        out |= {"override": override.change.value, "author": override.author, "at": override.at}
    out |= {"note": evidence.note} if evidence.note else {}
    return out


def every_relation(nodes: Sequence[NodeView], relations: Sequence[Fact]) -> list[Fact]:
    """Return the given relations and those only on the nodes (inferred ones), without inverses of relations already listed."""
    found: dict[tuple[str, str, str, Ref | None], Fact] = {}
    for fact in (*relations, *(fact for node in nodes for fact in node.relations)):
        if not fact.derived and fact.object:
            found.setdefault((fact.node, fact.predicate, fact.object, fact.until), fact)
    return list(found.values())


def _collect_names(nodes: Sequence[NodeView], relations: Sequence[Fact]) -> dict[str, str]:
    """Return names by id, of the nodes and of related nodes that are not included."""
    names = {node.id: node.name for node in nodes}
    for fact in relations:
        names.setdefault(fact.node, fact.node)
        names.setdefault(fact.object, fact.value or fact.object)
    return names


def to_graphml(nodes: Sequence[NodeView], relations: Sequence[Fact], number: Number) -> str:
    """Return GraphML with typed keys, for graph programs."""
    edges = every_relation(nodes, relations)
    ids = _tokens(nodes, edges)
    names = _collect_names(nodes, edges)
    predicates = sorted({fact.predicate for node in nodes for fact in node.attributes} - {"name"})
    keys = {"name": "k0", "type": "k1", "aliases": "k2", "turns": "k3"}
    keys |= {_field(name): f"a{n}" for n, name in enumerate(predicates)}
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">',
    ]
    for name, key in keys.items():
        kind = "int" if name == "turns" else "string"
        lines.append(f'  <key id="{key}" for="node" attr.name={_quote_attribute(name)} attr.type="{kind}"/>')
    for key, name, kind in _EDGE_KEYS:
        lines.append(f'  <key id="{key}" for="edge" attr.name="{name}" attr.type="{kind}"/>')
    lines.append('  <graph id="G" edgedefault="directed">')
    views = {node.id: node for node in nodes}
    for node_id, token in ids.items():
        lines += _graphml_node(token, names[node_id], views.get(node_id), keys)
    for n, fact in enumerate(edges):
        lines.append(
            f'    <edge id="e{n}" source={_quote_attribute(ids[fact.node])} target={_quote_attribute(ids[fact.object])}>'
        )
        lines += [f'      <data key="{key}">{_xml(words)}</data>' for key, words in _edge_data(fact, number)]
        lines.append("    </edge>")
    return "\n".join([*lines, "  </graph>", "</graphml>", ""])


_EDGE_KEYS = (
    ("e_predicate", "predicate", "string"),
    ("e_rank", "rank", "string"),
    ("e_since", "since", "int"),
    ("e_until", "until", "int"),
    ("e_sure", "sure", "double"),
)


def _edge_data(fact: Fact, number: Number) -> Iterator[tuple[str, str]]:
    yield "e_predicate", fact.predicate
    yield "e_rank", fact.rank.value
    for key, turn in (("e_since", fact.since), ("e_until", fact.until)):
        if turn is not None and turn != NOWHERE:
            yield key, str(number(turn))
    yield "e_sure", str(float(fact.sure))


def _graphml_node(token: str, name: str, node: NodeView | None, keys: dict[str, str]) -> list[str]:
    data: dict[str, str] = {"name": name}
    if node is not None:
        data |= {"type": node.type, "turns": str(len(node.interactions))}
        data |= {"aliases": "; ".join(node.aliases)} if node.aliases else {}
        for fact in node.attributes:
            if fact.predicate != "name":
                field = _field(fact.predicate)
                data[field] = f"{data[field]}; {fact.value}" if field in data else fact.value
    rows = [
        f'      <data key="{keys[field]}">{_xml(text)}</data>'
        for field, text in data.items()
        if field in keys
    ]
    return [f"    <node id={_quote_attribute(token)}>", *rows, "    </node>"]


def _field(name: str) -> str:
    """Return the key of an attribute, avoiding the names of the node's own fields."""
    return f"attribute_{name}" if name in {"type", "aliases", "turns"} else name


def _tokens(nodes: Sequence[NodeView], edges: Sequence[Fact]) -> dict[str, str]:
    """Return a unique XML name for every id: the readable one if possible, a number otherwise."""
    readable = {node.id: node.readable for node in nodes}
    ids = dict.fromkeys([*readable, *(end for fact in edges for end in (fact.node, fact.object))])
    counts = Counter(readable.values())
    out: dict[str, str] = {}
    for n, node_id in enumerate(ids):
        token = readable.get(node_id, "")
        sound = bool(_TOKEN.match(token)) and counts[token] == 1 and not re.fullmatch(r"n\d+", token)
        out[node_id] = token if sound else f"n{n}"
    return out


def _xml(text: str) -> str:
    # Imported here: this standard library module loads half of the network stack, which graph commands rarely need.
    from xml.sax.saxutils import escape

    return escape(_NOT_XML.sub("", text))


def _quote_attribute(text: str) -> str:
    from xml.sax.saxutils import quoteattr

    return quoteattr(_NOT_XML.sub("", text))


def to_mermaid(nodes: Sequence[NodeView], relations: Sequence[Fact], number: Number) -> str:
    """Return a Mermaid drawing of the current facts; of a large graph the best connected part, with a note on what is missing."""
    del number  # a drawing has no place for turns
    edges = [fact for fact in every_relation(nodes, relations) if fact.current]
    names = _collect_names(nodes, edges)
    degree = Counter(end for fact in edges for end in (fact.node, fact.object))
    order = {node_id: n for n, node_id in enumerate(names)}
    chosen = sorted(names, key=lambda node_id: (-degree[node_id], order[node_id]))[:_NODES]
    shown = {node_id: f"n{order[node_id]}" for node_id in sorted(chosen, key=order.__getitem__)}
    drawn = [fact for fact in edges if fact.node in shown and fact.object in shown][:_EDGES]
    kinds = {node.id: node.type for node in nodes}
    lines = ["graph LR"]
    missing = (len(names) - len(shown), len(edges) - len(drawn))
    if any(missing):
        lines.append(f"%% left out: {missing[0]} nodes, {missing[1]} relations")
    for node_id, token in shown.items():
        kind = kinds.get(node_id, "")
        label = _mermaid(names[node_id]) + (f"<br/><small>{_mermaid(kind)}</small>" if kind else "")
        lines.append(f'  {token}["{label}"]')
    for fact in drawn:
        arrow = "-.->" if fact.rank in (Rank.WORLD, Rank.DEFAULT) else "-->"
        label = _mermaid(predicate(fact.predicate).en)
        lines.append(f'  {shown[fact.node]} {arrow}|"{label}"| {shown[fact.object]}')
    return "\n".join(lines) + "\n"


def _mermaid(text: str) -> str:
    """Escape everything that Mermaid might take for syntax as a numbered entity."""
    return _MERMAID.sub(lambda found: f"#{ord(found[0])};", one_line(text, _LONGEST_LABEL)) or " "


def to_lorebook(nodes: Sequence[NodeView], relations: Sequence[Fact], number: Number) -> str:
    """Return world info for SillyTavern: an entry for each node with a fact on each line, so that it can be imported again.

    Defaults are left out: no source states them.
    """
    del number  # turns of this conversation mean nothing in another one
    edges = [fact for fact in every_relation(nodes, relations) if fact.current]
    names = _collect_names(nodes, edges)
    by_node: dict[str, list[Fact]] = {}
    for fact in edges:
        by_node.setdefault(fact.node, []).append(fact)
    entries: list[LoreEntry] = []
    for node in nodes:
        facts = [fact for fact in node.attributes if fact.current and fact.rank is not Rank.DEFAULT]
        facts += by_node.get(node.id, [])
        lines = [f"Type: {node.type}"] if node.type else []
        if node.aliases:
            lines.append(f"Aliases: {', '.join(one_line(alias, 60) for alias in node.aliases)}")
        grouped: dict[str, list[str]] = {}
        for fact in facts:
            if fact.predicate != "name":
                value = names[fact.object] if fact.object else fact.value
                grouped.setdefault(fact.predicate, []).append(one_line(value, 400))
        for name, values in grouped.items():
            lines.append(f"{predicate(name).en.capitalize()}: {', '.join(values)}")
        keys = tuple(dict.fromkeys([node.name, *node.aliases]))
        entries.append(LoreEntry(node.name, keys, text="\n".join(lines), comment=node.name))
    return write_lorebook(entries)
