"""How the graph is said: nodes, facts and their evidence, in lines for people."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from backscroll.engine.graph_shapes import predicate_words, type_words
from backscroll.surfaces.cli.plain import one_line
from backscroll.surfaces.cli.table import Column, table
from backscroll.surfaces.i18n import count, spoken, t

if TYPE_CHECKING:
    from backscroll.engine.graph_shapes import Evidence, Fact, NodeView
    from backscroll.surfaces.cli.screen import Screen
    from backscroll.vocab.ids import Ref

Number = Callable[["Ref"], int]
Named = Callable[[str], str]


def turn_words(opening: Ref | None, number: Number) -> str:
    """The turn that a message opens; a dash where it is gone."""
    found = -1 if opening is None else number(opening)
    return t("graph.turn", n=found) if found >= 0 else "–"


def value_of(fact: Fact, named: Named) -> str:
    """The value of an attribute, or the name of the other node."""
    return one_line(named(fact.object) if fact.object else fact.value)


def rank_words(fact: Fact) -> str:
    """On whose word it is held, and what is special about it."""
    marks = [t(f"graph_ranks.{fact.rank.value}")]
    if fact.pinned:
        marks.append(t("graph.pinned"))
    if fact.contested:
        marks.append(t("graph.contested"))
    if fact.derived:
        marks.append(t("graph.other_way"))
    return ", ".join(marks)


def listing(screen: Screen, nodes: Sequence[NodeView], number: Number) -> Iterator[str]:
    """Nodes as a table."""
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
            type_words(node.type, spoken()),
            "; ".join(
                f"{_word(f)}: {f.value}" for f in node.attributes if f.rank.value in ("said", "person")
            )[:160],
            str(len(node.relations)),
            str(len(node.interactions)),
            "" if node.last is None else str(max(0, number(node.last))),
        )
        for node in nodes
    ]
    yield from table(screen, columns, rows)


def _word(fact: Fact) -> str:
    return predicate_words(fact.predicate, spoken())


def page_of(screen: Screen, node: NodeView, number: Number, named: Named) -> Iterator[str]:
    """All about one node."""
    kind = type_words(node.type, spoken())
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
    ended: bool = False,
    whose: bool = False,
) -> Iterator[str]:
    """Facts as a table; with `ended` also until when they held, with `whose` also of whom."""
    columns = [
        *([Column(t("columns.name"), style="strong", shrinks=True)] if whose else []),
        Column(t("columns.what")),
        Column(t("columns.value"), shrinks=True),
        Column(t("columns.since"), style="dim"),
        *([Column(t("columns.until"), style="dim")] if ended else []),
        Column(t("columns.source"), style="dim", shrinks=True),
    ]
    rows = [
        (
            *([one_line(named(fact.node))] if whose else []),
            _word(fact),
            value_of(fact, named),
            turn_words(fact.since, number) if fact.since is not None else "",
            *([("" if fact.current else turn_words(fact.until, number))] if ended else []),
            rank_words(fact),
        )
        for fact in facts
    ]
    yield from table(screen, columns, rows)


def reasons(screen: Screen, facts: Iterable[Fact], number: Number, named: Named) -> Iterator[str]:
    """Facts with the sentences on which they rest."""
    for fact in facts:
        held = "" if fact.current else f" ({t('graph.no_longer', turn=turn_words(fact.until, number))})"
        yield f"{screen.style(_word(fact), 'strong')}: {value_of(fact, named)}{held}  {screen.style(rank_words(fact), 'dim')}"
        for evidence in fact.evidence:
            yield f"  {_evidence(evidence, number)}"
        for evidence in fact.contested:
            yield f"  {screen.style(t('graph.but'), 'warn')} {_evidence(evidence, number)}"


def _evidence(evidence: Evidence, number: Number) -> str:
    turn = turn_words(evidence.opening, number)
    if evidence.override is not None:
        change = evidence.override
        said = t(f"changes.{change.change.value}")
        return one_line(f"{change.author}, {change.at[:10]}: {said} {change.value or change.object}")
    if evidence.assertion is not None:
        told = evidence.assertion
        return one_line(f"{turn}, {told.speaker or '–'}: “{told.quote}”")
    return one_line(evidence.note or turn)
