"""`graph show`, `around`, `why`, `history`, `conflicts`, `questions`, `turns`, `export`: looking at the graph."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from backscroll.engine.knowledge.graph_shapes import (
    fact_json,
    inverse_of,
    known_type,
    node_json,
    predicate_meant,
    render_graph,
    to_json,
    type_names,
)
from backscroll.errors import InvalidInput
from backscroll.surfaces.cli.command import command, limit_option, option, session_of, thread_argument
from backscroll.surfaces.cli.references import thread_named
from backscroll.surfaces.cli.session import CliSession
from backscroll.surfaces.i18n import count, t
from backscroll.surfaces.pages.graph import page
from backscroll.surfaces.screen.plain import one_line
from backscroll.surfaces.screen.table import Column, table
from backscroll.surfaces.screen.times import format_time
from backscroll.surfaces.words.done import report_result
from backscroll.surfaces.words.graph import (
    Number,
    facts_table,
    listing,
    names_in,
    page_of,
    reasons,
    turn_words,
    value_of,
    word_of,
)

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from backscroll.engine.knowledge.graph import ThreadGraph
    from backscroll.engine.knowledge.graph_shapes import Fact, Graph, NodeView
    from backscroll.engine.thread import Thread
    from backscroll.vocab.assertion import TurnStatus
    from backscroll.vocab.part import Json

_LAST = 8  # turns that are searched for waiting ones
_NEAR = 60  # relations of other nodes shown with a node
SHAPES = ("json", "graphml", "mermaid", "lorebook", "html")
_JSON_SHAPES = ("json", "lorebook")


def node_argument(name: str = "node", *, required: bool = True) -> click.Argument:
    """Return an argument for a node: its name, an alias, or its id."""
    metavar = "NODE" if required else "[NODE]"
    return click.Argument([name], metavar=metavar, required=required, shell_complete=_nodes)


def predicate_argument(*, required: bool = True) -> click.Argument:
    """Return an argument for an attribute or a relation."""
    metavar = "PREDICATE" if required else "[PREDICATE]"
    return click.Argument(["predicate"], metavar=metavar, required=required, shell_complete=_predicates)


def _nodes(ctx: click.Context, _param: click.Parameter, incomplete: str) -> Sequence[CompletionItem]:
    # start-up: loaded when the command runs
    from backscroll.surfaces.cli.completion import nodes

    return nodes(session_of(ctx), str(ctx.params.get("thread") or ""), incomplete)


def _predicates(ctx: click.Context, _param: click.Parameter, incomplete: str) -> Sequence[CompletionItem]:
    # start-up: loaded when the command runs
    from backscroll.surfaces.cli.completion import predicates

    thread, node = str(ctx.params.get("thread") or ""), str(ctx.params.get("node") or "")
    return predicates(session_of(ctx), thread, node, incomplete)


def _graph(thread: Thread, turn: int | None) -> Graph:
    return thread.graph.current() if turn is None else thread.graph.at(turn)


@command(
    "graph-show",
    thread_argument(),
    node_argument(required=False),
    option("--type", "kind", metavar="TYPE"),
    option("--text", metavar="TEXT"),
    option("--at", "turn", type=click.IntRange(min=0), metavar="TURN"),
    limit_option(50),
)
def show(
    session: CliSession,
    thread: str,
    node: str | None,
    kind: str | None,
    text: str | None,
    turn: int | None,
    limit: int,
) -> None:
    """Show the nodes of the graph, or the details of one."""
    with session.engine() as engine:
        found = thread_named(engine, thread)
        graph, number = _graph(found, turn), found.graph.numbers()
        if node is not None:
            _show_one(session, graph, graph.node(node), number)
            return
        wanted = known_type(kind or "")
        all_of_it = not kind and not text  # then only the nodes shown are read
        nodes = graph.nodes(
            type=kind or "" if wanted is None else wanted,
            text=text or "",
            limit=(limit or None) if all_of_it else None,
        )
        found_in_all = len(graph.ids()) if all_of_it else len(nodes)
        if kind and wanted is None and not nodes:
            raise InvalidInput(
                t("graph.no_type", name=kind), hint=t("graph.no_type_hint", names=_types_in(graph))
            )
        some = nodes[: limit or None]
        if session.as_json:
            session.screen.json([node_json(one, number, names_in(graph)) for one in some])
        elif not nodes:
            session.screen.line(t(_why_empty(found, graph)))
        else:
            session.screen.lines(listing(session.screen, some, number))
            if len(some) < found_in_all:
                session.screen.remark(count("graph.more", found_in_all - len(some)), "dim")


def _why_empty(thread: Thread, graph: Graph) -> str:
    """Return the text that explains why there is nothing to show."""
    if graph.ids():
        return "graph.nothing_fits"
    waiting = any(s.state.value == "waiting" for s in thread.window.states(last_turns=_LAST))
    return "graph.nothing" if waiting or not thread.info.turns else "graph.nothing_said"


def _show_one(session: CliSession, graph: Graph, one: NodeView, number: Number) -> None:
    """Show the details of a node, with relations from others to it."""
    named = names_in(graph)
    own = {(f.predicate, f.object) for f in one.relations}
    near = graph.around([one.id], depth=1, limit=_NEAR).relations
    others = [f for f in near if f.object == one.id and (inverse_of(f.predicate), f.node) not in own]
    if session.as_json:
        relations = [fact_json(f, number) for f in (*one.relations, *others)]
        session.screen.json({**node_json(one, number, named), "relations": relations})
        return
    session.screen.lines(page_of(session.screen, one, number, named))
    if others:
        session.screen.line()
        session.screen.line(session.screen.style(t("graph.seen_there"), "dim"))
        session.screen.lines(facts_table(session.screen, others, number, named, whose=True))


def _types_in(graph: Graph) -> str:
    """Return all types, built-in ones and those in use."""
    return ", ".join(dict.fromkeys((*type_names(), *(n.type for n in graph.nodes() if n.type))))


@command(
    "graph-around",
    thread_argument(),
    click.Argument(["nodes"], metavar="NODE...", nargs=-1, required=True, shell_complete=_nodes),
    option("--depth", type=click.IntRange(1, 4), default=1, show_default=True, metavar="N"),
    limit_option(40),
)
def around(session: CliSession, thread: str, nodes: Sequence[str], depth: int, limit: int) -> None:
    """Show the neighbourhood of some nodes."""
    with session.engine() as engine:
        found = thread_named(engine, thread)
        graph, number = found.graph.current(), found.graph.numbers()
        near = graph.around(nodes, depth=depth, limit=limit or 1_000_000)
        if session.as_json:
            session.screen.json(to_json(near.nodes, near.relations, number))
            return
        named = names_in(graph)
        session.screen.lines(listing(session.screen, near.nodes, number))
        if near.relations:
            session.screen.line()
            session.screen.lines(facts_table(session.screen, near.relations, number, named, whose=True))
        if near.left_out:
            session.screen.remark(count("graph.more", near.left_out), "dim")


@command("graph-why", thread_argument(), node_argument(), predicate_argument(required=False))
def why(session: CliSession, thread: str, node: str, predicate: str | None) -> None:
    """Show why something is believed."""
    with session.engine() as engine:
        found = thread_named(engine, thread)
        graph, number = found.graph.current(), found.graph.numbers()
        facts = graph.why(node, predicate_meant(predicate or ""))
        if session.as_json:
            session.screen.json([fact_json(fact, number) for fact in facts])
        elif not facts:
            session.screen.line(_nothing_but(graph.why(node)))
        else:
            session.screen.lines(reasons(session.screen, facts, number, names_in(graph)))


@command("graph-history", thread_argument(), node_argument(), predicate_argument(required=False))
def history(session: CliSession, thread: str, node: str, predicate: str | None) -> None:
    """Show earlier facts of a node, and until when they held."""
    with session.engine() as engine:
        found = thread_named(engine, thread)
        graph, number = found.graph.current(), found.graph.numbers()
        facts = graph.history(node, predicate_meant(predicate or ""))
        if session.as_json:
            session.screen.json([fact_json(fact, number) for fact in facts])
        elif not facts:
            session.screen.line(_nothing_but(graph.history(node)))
        else:
            yours = {made.id for made in found.graph.overrides() if made.id is not None}
            session.screen.lines(facts_table(session.screen, facts, number, names_in(graph), ended=yours))


def _nothing_but(known: Sequence[Fact]) -> str:
    """Return the text for an unknown predicate, with the known ones."""
    names = ", ".join(dict.fromkeys(word_of(fact.predicate) for fact in known))
    return t("graph.no_facts_but", names=names) if names else t("graph.no_facts")


@command("graph-conflicts", thread_argument(), limit_option(50))
def conflicts(session: CliSession, thread: str, limit: int) -> None:
    """Show contradictions, and which side is held."""
    with session.engine() as engine:
        found = thread_named(engine, thread)
        graph, number = found.graph.current(), found.graph.numbers()
        every = graph.conflicts()
        some = every[: limit or None]
        if session.as_json:
            rows = [
                {"kind": c.kind, "held": fact_json(c.held, number), "other": fact_json(c.other, number)}
                for c in some
            ]
            session.screen.json(rows)
            return
        if not every:
            session.screen.line(t("graph.no_conflicts"))
            return
        named = names_in(graph)
        columns = [
            Column(t("columns.name"), style="strong", shrinks=True),
            Column(t("columns.property")),
            Column(t("columns.held"), shrinks=True),
            Column(t("columns.against"), shrinks=True),
            Column(t("columns.why"), style="dim"),
        ]
        cells = [
            (
                named(c.node),
                word_of(c.predicate),
                f"{value_of(c.held, named)} ({turn_words(c.held.since, number)})",
                f"{value_of(c.other, named)} ({turn_words(c.other.since, number)})",
                t(f"graph_conflicts.{c.kind.replace(' ', '_')}"),
            )
            for c in some
        ]
        session.screen.lines(table(session.screen, columns, cells))
        if len(some) < len(every):
            session.screen.remark(count("graph.more", len(every) - len(some)), "dim")


@command("graph-questions", thread_argument())
def questions(session: CliSession, thread: str) -> None:
    """Show questions that only the user can settle."""
    with session.engine() as engine:
        found = thread_named(engine, thread)
        graph, number = found.graph.current(), found.graph.numbers()
        every, alike = graph.questions(), graph.suggestions()
        named = names_in(graph)
        if session.as_json:
            session.screen.json(
                {
                    "questions": [
                        {"id": q.id, "kind": q.kind, "nodes": list(q.nodes), "text": q.text} for q in every
                    ],
                    "alike": [
                        {"first": s.first, "second": s.second, "score": s.score, "why": s.why} for s in alike
                    ],
                }
            )
            return
        if not every and not alike:
            session.screen.line(t("graph.no_questions"))
        for question in every:
            whose = question.nodes[:1] if question.facts else question.nodes
            names = ", ".join(one_line(named(n)) for n in whose)
            session.screen.line(t(f"graph_questions.{question.kind}", names=names))
            for fact in question.facts:
                turn = turn_words(fact.since, number) if fact.since else t("graph.your_change")
                session.screen.line(f"  {word_of(fact.predicate)}: {value_of(fact, named)} ({turn})")
        for pair in alike:
            first, second = one_line(named(pair.first)), one_line(named(pair.second))
            session.screen.line(t("graph.alike", first=first, second=second, score=f"{pair.score:.2f}"))
        if every:
            session.screen.remark(t("graph.settle"), "dim")


@command("graph-turns", thread_argument(), limit_option(20))
def turns(session: CliSession, thread: str, limit: int) -> None:
    """Show how far the analysis of each turn has come."""
    with session.engine() as engine:
        found = thread_named(engine, thread)
        window = found.window
        states = window.states(last_turns=limit or None)
        first, last = window.span
        target = window.target
    if session.as_json:
        span = {"first": first, "last": last, "target": target}
        session.screen.json({"window": span, "turns": [_turn_json(s) for s in states]})
        return
    if not states:
        session.screen.line(t("graph.no_turns"))
        return
    columns = [
        Column(t("columns.turn"), right=True),
        Column("", style="dim"),
        Column(t("columns.state"), style="strong"),
        Column(t("columns.by")),
        Column(t("columns.when"), style="dim"),
        Column(t("columns.why"), shrinks=True),
    ]
    session.screen.lines(table(session.screen, columns, [_turn_row(s, target) for s in states]))
    if held := [s.number for s in states if s.in_window]:
        first = max(first, 1) if held[0] else 0
        session.screen.line(session.screen.style(t("graph.window", first=first, last=last), "dim"))


def _turn_json(state: TurnStatus) -> dict[str, Json]:
    return {
        "turn": state.number,
        "id": state.id,
        "state": state.state.value,
        "processed_at": state.processed_at,
        "by": state.by,
        "in_window": state.in_window,
        "affected": state.affected,
        "why": state.why,
        "tries": state.tries,
    }


def _turn_row(state: TurnStatus, target: int | None) -> tuple[str, ...]:
    remarks = (
        t("graph.affected") if state.affected else "",
        one_line(state.why),
        count("graph.tries", state.tries) if state.tries else "",
    )
    return (
        str(state.number),
        "▸" if state.number == target else "│" if state.in_window else "",
        t(f"turn_states.{state.state.value}"),
        state.by,
        "" if state.processed_at is None else format_time(state.processed_at),
        "; ".join(filter(None, remarks)),
    )


@command(
    "graph-export",
    thread_argument(),
    option(
        "--format", "shape", type=click.Choice(SHAPES), default="json", show_default=True, metavar="FORMAT"
    ),
    option("--around", "node", metavar="NODE"),
    option("-o", "--output", metavar="FILE"),
)
def export(session: CliSession, thread: str, shape: str, node: str | None, output: str | None) -> None:
    """Write the graph as JSON, GraphML, Mermaid, a lorebook or a page."""
    with session.engine() as engine:
        text = _render_export(thread_named(engine, thread).graph, shape, node)
    if output is None:
        if session.as_json:
            session.screen.json(
                json.loads(text) if shape in _JSON_SHAPES else {"format": shape, "text": text}
            )
        else:
            session.screen.lines(text.splitlines())
        return
    target = Path(output).expanduser()
    try:
        target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InvalidInput(t("graph.cannot_write", path=output, what=error.strerror)) from error
    report_result(
        session.screen,
        {"file": str(target), "format": shape},
        t("graph.exported", path=one_line(str(target))),
    )


def _render_export(graph: ThreadGraph, shape: str, node: str | None) -> str:
    view, number = graph.current(), graph.numbers()
    if node is not None:
        near = view.around([node], depth=2, limit=200)
        nodes, relations = list(near.nodes), list(near.relations)
    else:
        nodes = view.nodes()
        relations = list(_relations(nodes))
    if shape != "html":
        return render_graph(shape, nodes, relations, number)
    past = {n.id: [f for f in view.history(n.id) if not f.current] for n in nodes}
    title = graph.thread.info.title or graph.thread.id[:8]
    return page(nodes, relations, title=title, number=number, history=past)


def _relations(nodes: Sequence[NodeView]) -> Iterator[Fact]:
    """Yield each relation once, in its stated direction."""
    for node in nodes:
        yield from (fact for fact in node.relations if not fact.derived)
