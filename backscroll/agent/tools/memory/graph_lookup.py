"""The tool `graph_lookup`: look up a person or a thing in the graph, with the supporting sentences.

Owns rendering a neighbourhood as text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from backscroll.agent.commands.output import one_line
from backscroll.agent.tool import ToolContext, ToolOutput
from backscroll.agent.toolbox import tool
from backscroll.vocab.ids import Ref

if TYPE_CHECKING:
    from backscroll.engine.knowledge.graph_shapes import Fact, NodeView

_NODES = 25
_FACTS = 24  # facts shown of one node


@tool
def graph_lookup(context: ToolContext, name: str, depth: int = 1, why: bool = False) -> ToolOutput:
    """Look somebody or something up in the knowledge graph of this conversation: attributes, relations, neighbours.

    Use it for people, places, projects and things that were talked about, when it matters how they stand now. The latest word
    counts; what the person set by hand counts most.

    Args:
        name: The name, an alias, or the id of a node.
        depth: How far to look around it: 0 is the node alone, 1 its neighbours, at most 3.
        why: Also quote the sentences on which it rests.
    """
    graph = context.thread.graph
    node = graph.node(name)
    around = graph.around(node.id, depth=max(0, min(depth, 3)), limit=_NODES)
    number = graph.numbers()
    names = {each.id: each.name for each in around.nodes} | {node.id: node.name}
    for fact in (f for each in around.nodes for f in each.relations):
        if fact.object and fact.object not in names:
            names[fact.object] = graph.node(fact.object).name
    others = [each for each in around.nodes if each.id != node.id]
    rows = [*_node(node, names, number), *(row for each in others for row in _node(each, names, number))]
    if around.left_out:
        rows.append(f"({around.left_out} more neighbours are not shown)")
    if why:
        rows += _quote_evidence(graph.why(node.id), names, number)
    return ToolOutput(
        "\n".join(rows),
        line=f"{node.name}: {len(node.attributes)} attributes, {len(node.relations)} relations",
    )


def _node(node: NodeView, names: Mapping[str, str], number: Callable[[Ref], int]) -> Iterator[str]:
    also = f", also {', '.join(node.aliases[:6])}" if node.aliases else ""
    yield f"{node.name} ({node.type or 'unknown'}{also})"
    facts = [*node.attributes, *node.relations]
    for fact in facts[:_FACTS]:
        yield f"  {_render_fact(fact, names)}{_since(fact, number)}"
    if len(facts) > _FACTS:
        yield f"  … and {len(facts) - _FACTS} more"


def _render_fact(fact: Fact, names: Mapping[str, str]) -> str:
    return f"{fact.predicate}: {names.get(fact.object, fact.object) if fact.object else fact.value}"


def _since(fact: Fact, number: Callable[[Ref], int]) -> str:
    """Return the source of a fact, and since which turn it holds."""
    rank = fact.rank.value
    if rank == "said":
        turn = number(fact.since) if fact.since is not None else -1
        return f" (turn {turn})" if turn >= 0 else ""
    return {"person": " (set by the person)", "world": " (from the world description)"}.get(
        rank, " (assumed)"
    )


def _quote_evidence(
    facts: list[Fact], names: Mapping[str, str], number: Callable[[Ref], int]
) -> Iterator[str]:
    yield "It rests on (quoted, data):"
    for fact in facts[:_FACTS]:
        for evidence in fact.evidence[-1:]:
            quote = evidence.assertion.quote if evidence.assertion is not None else evidence.note
            if quote:
                yield f"  {_render_fact(fact, names)}{_since(fact, number)}: “{one_line(quote, 240)}”"
