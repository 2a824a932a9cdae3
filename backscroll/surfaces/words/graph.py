"""The graph as text: nodes, facts and their evidence, in lines for the user."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from backscroll.engine.knowledge.graph_shapes import predicate_words, type_words
from backscroll.surfaces.i18n import count, get_language, t
from backscroll.surfaces.i18n.translation import say
from backscroll.surfaces.screen.plain import one_line
from backscroll.surfaces.screen.table import Column, table
from backscroll.vocab.assertion import Change

if TYPE_CHECKING:
    from backscroll.engine.knowledge.graph_shapes import Evidence, Fact, Graph, NodeView
    from backscroll.surfaces.screen.screen import Screen
    from backscroll.vocab.assertion import Override
    from backscroll.vocab.ids import Ref

Number = Callable[["Ref"], int]
Named = Callable[[str], str]


def names_in(graph: Graph) -> Named:
    """Return a function from the id of a node to its name; to the id itself if the node does not exist (any more)."""
    known: dict[str, str] = {}

    def name(id_: str) -> str:
        if id_ not in known:
            known[id_] = graph.node(id_).name if graph.find(id_) else id_
        return known[id_]

    return name


def turn_words(opening: Ref | None, number: Number) -> str:
    """Return the turn that a message opens; a dash if it is gone."""
    found = -1 if opening is None else number(opening)
    return t("graph.turn", n=found) if found >= 0 else "–"


def value_of(fact: Fact, named: Named) -> str:
    """Return the value of an attribute, or the name of the other node."""
    name = named(fact.object) if fact.object else ""
    return one_line(fact.value or name if name == fact.object else name)


def until_words(fact: Fact, number: Number, yours: Collection[Ref] = ()) -> str:
    """Return until when a fact held: a turn, or one of the user's own changes; empty if it still holds."""
    return t("graph.your_change") if fact.until in yours else turn_words(fact.until, number)


def rank_words(fact: Fact) -> str:
    """Return the authority behind a fact, and its special properties."""
    marks = [t(f"graph_ranks.{fact.rank.value}")]
    if fact.pinned:
        marks.append(t("graph.pinned"))
    if fact.contested:
        marks.append(t("graph.contested"))
    if fact.derived:
        marks.append(t("graph.other_way"))
    return ", ".join(marks)


def listing(screen: Screen, nodes: Sequence[NodeView], number: Number) -> Iterator[str]:
    """Yield nodes as a table."""
    columns = [
        Column(t("columns.name"), style="strong", shrinks=True),
        Column(t("columns.kind")),
        Column(t("columns.details"), shrinks=True),
        Column(t("columns.relations"), right=True),
        Column(t("columns.turns"), right=True),
        Column(t("columns.last"), right=True, style="dim"),
    ]
    rows = [
        (
            node.name,
            type_words(node.type, get_language()),
            "; ".join(
                f"{word_of(f.predicate)}: {f.value}"
                for f in node.attributes
                if f.rank.value in ("said", "person")
            )[:160],
            str(len(node.relations)),
            str(len(node.interactions)),
            "" if node.last is None else str(max(0, number(node.last))),
        )
        for node in nodes
    ]
    yield from table(screen, columns, rows)


def word_of(predicate: str) -> str:
    """Return the display name of an attribute or relation, without the placeholder of the other end."""
    return predicate_words(predicate, get_language()).replace("…", "～")


def page_of(screen: Screen, node: NodeView, number: Number, named: Named) -> Iterator[str]:
    """Yield the details of a node."""
    kind = type_words(node.type, get_language())
    yield f"{screen.style(one_line(node.name), 'strong')}  {screen.style(f'{kind} · {node.readable}', 'dim')}"
    if node.aliases:
        yield t("graph.also", names=", ".join(map(one_line, node.aliases)))
    met = t("graph.met", first=turn_words(node.first, number), last=turn_words(node.last, number))
    yield screen.style(f"{count('graph.spoken_of', len(node.interactions))}; {met}", "dim")
    yield ""
    yield from facts_table(screen, [*node.attributes, *node.relations], number, named)


def facts_table(
    screen: Screen,
    facts: Sequence[Fact],
    number: Number,
    named: Named,
    *,
    ended: Collection[Ref] | None = None,
    whose: bool = False,
) -> Iterator[str]:
    """Yield facts as a table; with `ended` (the user's own changes) also until when they held, with `whose` also their node."""
    columns = [
        *([Column(t("columns.name"), style="strong", shrinks=True)] if whose else []),
        Column(t("columns.property")),
        Column(t("columns.value"), shrinks=True),
        Column(t("columns.since"), style="dim"),
        *([Column(t("columns.until"), style="dim")] if ended is not None else []),
        Column(t("columns.source"), style="dim", shrinks=True),
    ]
    rows = [
        (
            *([one_line(named(fact.node))] if whose else []),
            word_of(fact.predicate),
            value_of(fact, named),
            turn_words(fact.since, number) if fact.since is not None else "",
            *([] if ended is None else [("" if fact.current else until_words(fact, number, ended))]),
            rank_words(fact),
        )
        for fact in facts
    ]
    yield from table(screen, columns, rows)


def reasons(screen: Screen, facts: Iterable[Fact], number: Number, named: Named) -> Iterator[str]:
    """Yield facts with the sentences that support them."""
    for fact in facts:
        held = "" if fact.current else f" ({t('graph.no_longer', turn=until_words(fact, number))})"
        yield f"{screen.style(word_of(fact.predicate), 'strong')}: {value_of(fact, named)}{held}  {screen.style(rank_words(fact), 'dim')}"
        for evidence in fact.evidence:
            yield f"  {_evidence(evidence, number, named)}"
        for evidence in fact.contested:
            yield f"  {screen.style(t('graph.but'), 'warn')} {_evidence(evidence, number, named)}"


def _evidence(evidence: Evidence, number: Number, named: Named) -> str:
    turn = turn_words(evidence.opening, number)
    if evidence.override is not None:
        change = evidence.override
        return one_line(f"{change.author}, {change.at[:10]}: {change_words(change, named)}")
    if evidence.assertion is not None:
        told = evidence.assertion
        return one_line(f"{turn}, {told.speaker or '–'}: “{told.quote}”")
    return one_line(say(evidence.note) or turn)


def change_words(made: Override, named: Named) -> str:
    """Return what a user changed, in words."""
    if made.change in (Change.RENAME, Change.MERGE):  # the node has another name since
        return t(f"graph_changes.{made.change.value}", node=made.node, value=made.value or made.object)
    rest = named(made.object) if made.object else made.value
    how = "forbid_all" if made.change is Change.FORBID and not rest else made.change.value
    predicate = word_of(made.predicate) if made.predicate else ""
    return t(f"graph_changes.{how}", node=named(made.node), predicate=predicate, value=rest or made.node)
