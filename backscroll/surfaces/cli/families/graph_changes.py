"""`graph set`, `pin`, `forbid`, `rename`, `merge`, `split`, `delete`, `add`, `lift`, `overrides`, `world`, `flush`, `read`.

A user's change takes precedence over the text, now and after any analysis, until it is lifted or undone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from backscroll.errors import InvalidInput
from backscroll.surfaces.cli.command import command, flag, option, thread_argument
from backscroll.surfaces.cli.families.graph_views import node_argument, predicate_argument
from backscroll.surfaces.cli.families.world_files import change_world
from backscroll.surfaces.cli.references import thread_named
from backscroll.surfaces.cli.session import CliSession
from backscroll.surfaces.i18n import count, t
from backscroll.surfaces.screen.plain import one_line
from backscroll.surfaces.screen.table import Column, table
from backscroll.surfaces.screen.times import format_time
from backscroll.surfaces.words.done import report_result
from backscroll.surfaces.words.graph import change_words, names_in

if TYPE_CHECKING:
    from backscroll.engine.knowledge.graph import ThreadGraph
    from backscroll.vocab.assertion import Override
    from backscroll.vocab.part import Json


def _apply_change(
    session: CliSession, thread: str, work: Callable[[ThreadGraph], Override], typed: str
) -> None:
    """Apply a change and report it; `typed` is the name that the user gave for the node, which may be gone now."""
    with session.engine() as engine:
        graph = thread_named(engine, thread).graph
        made = work(graph)
        named = names_in(graph.current())
        gone = graph.current().find(made.node) is None
        what = change_words(made, lambda id_: typed if gone and id_ == made.node else named(id_))
    number = "" if made.id is None else made.id.seq
    report_result(session.screen, _of(made), t("graph.changed", what=one_line(what), id=number))


def _of(made: Override) -> dict[str, Json]:
    return {
        "id": None if made.id is None else made.id.seq,
        "change": made.change.value,
        "node": made.node,
        "predicate": made.predicate,
        "value": made.value,
        "object": made.object,
        "type": made.type,
        "turns": [str(turn) for turn in made.turns],
        "author": made.author,
        "at": made.at,
    }


@command(
    "graph-set",
    thread_argument(),
    node_argument(),
    predicate_argument(),
    click.Argument(["value"], metavar="[VALUE]", required=False),
    option("--to", "other", metavar="NODE"),
)
def set_(
    session: CliSession, thread: str, node: str, predicate: str, value: str | None, other: str | None
) -> None:
    """Set an attribute or a relation."""
    _apply_change(
        session, thread, lambda graph: graph.set(node, predicate, value or "", other=other or ""), node
    )


@command("graph-pin", thread_argument(), node_argument(), predicate_argument())
def pin(session: CliSession, thread: str, node: str, predicate: str) -> None:
    """Keep the current value, whatever the text says later."""
    _apply_change(session, thread, lambda graph: graph.pin(node, predicate), node)


@command(
    "graph-forbid",
    thread_argument(),
    node_argument(),
    predicate_argument(),
    click.Argument(["value"], metavar="[VALUE]", required=False),
    option("--to", "other", metavar="NODE"),
    flag("--any", "every"),
)
def forbid(
    session: CliSession,
    thread: str,
    node: str,
    predicate: str,
    value: str | None,
    other: str | None,
    every: bool,
) -> None:
    """Declare a fact false, whatever the text says."""
    if every == (value is not None or other is not None):
        raise InvalidInput(t("graph.forbid_what"), hint=t("graph.forbid_what_hint"))
    _apply_change(session, thread, lambda graph: graph.forbid(node, predicate, value, other=other), node)


@command("graph-rename", thread_argument(), node_argument(), click.Argument(["name"], metavar="NAME"))
def rename(session: CliSession, thread: str, node: str, name: str) -> None:
    """Rename a node."""
    _apply_change(session, thread, lambda graph: graph.rename(node, name), node)


@command("graph-merge", thread_argument(), node_argument(), node_argument("other"))
def merge(session: CliSession, thread: str, node: str, other: str) -> None:
    """Merge two nodes into one."""
    _apply_change(session, thread, lambda graph: graph.merge(node, other), node)


@command(
    "graph-split",
    thread_argument(),
    node_argument(),
    click.Argument(["turns"], metavar="TURN...", nargs=-1, required=True, type=click.IntRange(min=0)),
    option("--name", metavar="NAME"),
)
def split(session: CliSession, thread: str, node: str, turns: Sequence[int], name: str | None) -> None:
    """Split off turns that are about another node of the same name."""
    _apply_change(session, thread, lambda graph: graph.split(node, turns, name or ""), node)


@command("graph-delete", thread_argument(), node_argument())
def delete(session: CliSession, thread: str, node: str) -> None:
    """Delete a node."""
    _apply_change(session, thread, lambda graph: graph.delete(node), node)


@command(
    "graph-add",
    thread_argument(),
    click.Argument(["name"], metavar="NAME"),
    option("--type", "kind", metavar="TYPE"),
    option("--set", "attributes", metavar="NAME=VALUE", multiple=True),
)
def add(session: CliSession, thread: str, name: str, kind: str | None, attributes: Sequence[str]) -> None:
    """Add a node."""
    known = dict(_pair(text) for text in attributes)
    _apply_change(session, thread, lambda graph: graph.add(name, kind or "", **known), name)


def _pair(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign or not name.strip() or not value.strip():
        raise InvalidInput(t("graph.no_pair", text=text), hint=t("graph.no_pair_hint"))
    return name.strip(), value.strip()


@command("graph-overrides", thread_argument())
def overrides(session: CliSession, thread: str) -> None:
    """List your own changes to the graph."""
    with session.engine() as engine:
        graph = thread_named(engine, thread).graph
        found = graph.overrides()
        named = names_in(graph.current())
        words = [change_words(made, named) for made in found]
    if session.as_json:
        session.screen.json([_of(made) for made in found])
    elif not found:
        session.screen.line(t("graph.no_overrides"))
    else:
        columns = [
            Column(t("columns.number"), right=True),
            Column(t("columns.what"), shrinks=True),
            Column(t("columns.who"), style="dim"),
            Column(t("columns.when"), style="dim"),
        ]
        rows = [
            ("" if m.id is None else str(m.id.seq), one_line(what), m.author, format_time(m.at))
            for m, what in zip(found, words, strict=True)
        ]
        session.screen.lines(table(session.screen, columns, rows))


@command(
    "graph-lift", thread_argument(), click.Argument(["number"], metavar="NUMBER", type=click.IntRange(min=1))
)
def lift(session: CliSession, thread: str, number: int) -> None:
    """Lift one of your changes; the text counts again."""
    with session.engine() as engine:
        thread_named(engine, thread).graph.lift(number)
    report_result(session.screen, {"lifted": number}, t("graph.lifted", id=number))


@command(
    "graph-world",
    thread_argument(),
    click.Argument(["file"], metavar="[FILE]", required=False),
    option("--name", metavar="NAME"),
    option("--drop", metavar="NAME"),
)
def world(session: CliSession, thread: str, file: str | None, name: str | None, drop: str | None) -> None:
    """Describe the world of a thread, or show its description."""
    with session.engine() as engine:
        graph = thread_named(engine, thread).graph
        if change_world(session, graph, file, name, drop):
            return
        entries = graph.world()
    if session.as_json:
        session.screen.json(
            [{"name": e.name, "keys": list(e.keys), "text": e.text, "source": e.source} for e in entries]
        )
    elif not entries:
        session.screen.line(t("graph.no_world"))
    else:
        columns = [
            Column(t("columns.name"), style="strong", shrinks=True),
            Column(t("columns.source"), style="dim"),
            Column(t("columns.text"), shrinks=True),
        ]
        session.screen.lines(
            table(session.screen, columns, [(e.name, e.source, one_line(e.text)) for e in entries])
        )


@command("graph-flush", thread_argument())
def flush(session: CliSession, thread: str) -> None:
    """Analyse the newest turns at once."""
    with session.engine() as engine:
        waiting = thread_named(engine, thread).graph.flush()
    text = count("graph.flushed", waiting) if waiting else t("graph.none_waited")
    report_result(session.screen, {"turns": waiting}, text)


@command("graph-read", thread_argument(), flag("--dry-run"), flag("--yes"))
def read(session: CliSession, thread: str, dry_run: bool, yes: bool) -> None:
    """Have the configured model read turns that it has not read yet, imported ones too."""
    # start-up: loaded when the command runs
    from backscroll.engine.knowledge.model_turns import estimate, read_pending

    screen = session.screen
    with session.engine() as engine:
        found = thread_named(engine, thread)
        would = estimate(engine, found.id)
        if would is None:
            raise InvalidInput(t("graph.no_model"), hint=t("graph.no_model_hint"))
        cost = (
            t("models.unpriced") if would.dollars is None else t("models.priced", cost=f"{would.dollars:.4f}")
        )
        tokens = t("models.tokens", input=would.input, output=would.output)
        price = f"{count('graph.to_read', would.texts)} {tokens} {cost}"
        if dry_run or not would.texts:
            document = {
                "turns": would.texts,
                "input": would.input,
                "output": would.output,
                "dollars": would.dollars,
            }
            report_result(session.screen, document, price if would.texts else t("graph.all_read"))
            return
        if not yes:
            if not screen.can_ask:
                raise InvalidInput(t("models.not_asked"), hint=t("models.not_asked_hint"))
            screen.line(price)
            if not screen.asks(t("models.sure")):
                return
        done = read_pending(engine, found.id, imported=True)
    report_result(session.screen, {"turns": done}, count("graph.read", done))
