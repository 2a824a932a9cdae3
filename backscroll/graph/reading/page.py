"""The graph as data for an interactive page: labels in the reader's language, facts with their supporting quotes.

Owns the content of the page and how much of a huge graph it shows. Not here: HTML (`surfaces/pages/graph`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from backscroll.derive.extract.ontology import predicate, types
from backscroll.graph.reading.exports import every_relation
from backscroll.graph.reading.words import one_line
from backscroll.graph.view import Evidence, Fact, NodeView, Rank
from backscroll.graph.world.completion import NOWHERE
from backscroll.vocab.ids import Ref
from backscroll.vocab.part import Json

MOST_NODES = 2000  # a page can lay out this many while the user watches
_QUOTE = 400
_VALUE = 600


def page_data(
    nodes: Sequence[NodeView],
    relations: Sequence[Fact],
    number: Callable[[Ref], int],
    language: str = "en",
    history: Mapping[str, Sequence[Fact]] | None = None,
) -> dict[str, Json]:
    """Return nodes, edges and types for the page; if there are too many, the best connected and most mentioned ones."""
    edges = every_relation(nodes, relations)
    degree = Counter(end for fact in edges for end in (fact.node, fact.object))
    order = {node.id: n for n, node in enumerate(nodes)}
    best = sorted(nodes, key=lambda node: (-degree[node.id], -len(node.interactions), order[node.id]))
    chosen = sorted(best[:MOST_NODES], key=lambda node: order[node.id])
    places = {node.id: n for n, node in enumerate(chosen)}
    names = {node.id: one_line(node.name, 120) for node in nodes}
    told = _FactWriter(number, language, names)
    drawn = [fact for fact in edges if fact.node in places and fact.object in places]
    return {
        "nodes": [_node(node, told, (history or {}).get(node.id, ())) for node in chosen],
        "edges": [
            {"from": places[fact.node], "to": places[fact.object], **told.fact(fact)} for fact in drawn
        ],
        "types": _types(chosen, language),
        "left_out": len(nodes) - len(chosen),
    }


def _types(nodes: Sequence[NodeView], language: str) -> list[Json]:
    counts = Counter(node.type for node in nodes)
    return [
        {"id": name, "label": _type_label(name, language), "count": count}
        for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    ]


def _type_label(name: str, language: str) -> str:
    known = types().get(name)
    return (known.zh if language == "zh" else known.en) if known else one_line(name, 40)


def _node(node: NodeView, told: _FactWriter, history: Sequence[Fact]) -> dict[str, Json]:
    unplaced = [fact for fact in node.relations if not fact.derived and fact.object not in told.names]
    return {
        "id": node.id,
        "readable": one_line(node.readable, 120),
        "name": one_line(node.name, 120) or one_line(node.id, 120),
        "type": node.type,
        "aliases": [one_line(alias, 80) for alias in node.aliases],
        "facts": [told.fact(fact) for fact in (*node.attributes, *unplaced) if fact.predicate != "name"],
        "history": [told.fact(fact) for fact in history if not fact.current],
        "turns": [told.number(turn) for turn in node.interactions],
    }


class _FactWriter:
    """Formats facts in one language."""

    __slots__ = ("language", "names", "number")

    def __init__(self, number: Callable[[Ref], int], language: str, names: Mapping[str, str]) -> None:
        self.number = number
        self.language = language
        self.names = names

    def fact(self, fact: Fact) -> dict[str, Json]:
        """Return one fact with its label, its rank and its evidence."""
        about = predicate(fact.predicate)
        label = (about.zh if self.language == "zh" else about.en).replace("…", "～")
        value = fact.value
        if fact.object:
            value = self.names.get(fact.object) or fact.value or fact.object
        out: dict[str, Json] = {
            "label": one_line(label, 60),
            "value": one_line(value, _VALUE),
            "rank": _group(fact.rank),
        }
        for field, turn in (("since", fact.since), ("until", fact.until)):
            if turn is not None and turn != NOWHERE and fact.rank not in (Rank.WORLD, Rank.DEFAULT):
                out[field] = self.number(turn)
        out |= {"pinned": True} if fact.pinned else {}
        out |= {"why": [self.reason(e) for e in fact.evidence[:8]]} if fact.evidence else {}
        out |= {"against": [self.reason(e) for e in fact.contested[:8]]} if fact.contested else {}
        return out

    def reason(self, evidence: Evidence) -> dict[str, Json]:
        """Return one piece of evidence for a fact."""
        out: dict[str, Json] = {}
        if evidence.opening != NOWHERE and (evidence.assertion is not None or evidence.override is not None):
            out["turn"] = self.number(evidence.opening)
        if (claim := evidence.assertion) is not None:
            out |= {"quote": one_line(claim.quote, _QUOTE)} if claim.quote else {}
            out |= {"by": one_line(claim.speaker, 80)} if claim.speaker else {}
        if (override := evidence.override) is not None:
            out |= {"by": one_line(override.author, 80)} if override.author else {}
            out |= {"at": one_line(override.at, 40)} if override.at else {}
            out.pop("turn", None)  # an override is not part of the conversation
        out |= {"note": one_line(evidence.note, 200)} if evidence.note else {}
        return out


def _group(rank: Rank) -> str:
    return {Rank.PERSON: "person", Rank.SAID: "said"}.get(rank, "assumed")
