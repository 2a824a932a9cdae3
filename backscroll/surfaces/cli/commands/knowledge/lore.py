"""`lore`: the lorebooks and cards of a thread, which of their entries are in prompts, and what activated them."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from backscroll.errors import NotFound
from backscroll.surfaces.cli.command import command, option, thread_argument
from backscroll.surfaces.cli.families.world_files import change_world
from backscroll.surfaces.cli.references import thread_named
from backscroll.surfaces.cli.session import CliSession
from backscroll.surfaces.i18n import t
from backscroll.surfaces.receipts import number, reason_words
from backscroll.surfaces.screen.plain import one_line, safe
from backscroll.surfaces.screen.table import Column, table

if TYPE_CHECKING:
    from backscroll.engine.prompts.thread_lore import LoreState


@command(
    "lore",
    thread_argument(),
    click.Argument(["file"], metavar="[FILE]", required=False),
    option("--name", metavar="NAME"),
    option("--drop", metavar="NAME"),
    option("--entry", metavar="NAME"),
    option("--budget", metavar="TOKENS", type=click.IntRange(min=1)),
)
def lore_command(
    session: CliSession,
    thread: str,
    file: str | None,
    name: str | None,
    drop: str | None,
    entry: str | None,
    budget: int | None,
) -> None:
    """Add a lorebook, remove one, or list the entries and what the next prompt does with them."""
    with session.engine() as engine:
        named = thread_named(engine, thread)
        if change_world(session, named.graph, file, name, drop):
            return
        found = named.lore.entries(budget)
    if entry is not None:
        found = [one for one in found if one.name.casefold() == entry.casefold()]
        if not found:
            raise NotFound(t("lore.no_entry", name=entry), hint=t("lore.no_entry_hint"))
    if session.as_json:
        session.screen.json([asdict(one) for one in found])
    elif not found:
        session.screen.line(t("lore.none"))
    elif entry is not None:
        for one in found:
            _whole(session, one)
    else:
        columns = [
            Column(t("columns.name"), style="strong", shrinks=True),
            Column(t("columns.source"), style="dim", shrinks=True),
            Column(t("columns.state")),
            Column(t("columns.why"), shrinks=True),
        ]
        rows = [(one_line(e.name), one_line(e.book), t(f"lore.{e.state}"), one_line(_why(e))) for e in found]
        session.screen.lines(table(session.screen, columns, rows))


def _why(one: LoreState) -> str:
    if one.why:
        return reason_words(one.why)
    return t("lore.keys", keys=", ".join(one.keys)) if one.keys and one.state == "asleep" else ""


def _whole(session: CliSession, one: LoreState) -> None:
    """Print one entry: its kind, why it is or is not in the prompt, its text."""
    screen = session.screen
    tokens = f" · {number(one.tokens)}" if one.tokens else ""
    screen.line(
        screen.style(
            f"{one_line(one.name)} · {one_line(one.book)} · {t(f'lore.{one.state}')}{tokens}", "strong"
        )
    )
    if why := _why(one):
        screen.line(one_line(why))
    screen.line("")
    screen.lines(safe(line) for line in one.text.split("\n"))
