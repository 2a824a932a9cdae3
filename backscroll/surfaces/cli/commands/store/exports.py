"""`export`: threads in formats of other tools, or everything in our own."""

from __future__ import annotations

import click

from backscroll.errors import InvalidInput
from backscroll.surfaces.cli.command import command, flag, option
from backscroll.surfaces.cli.references import thread_named
from backscroll.surfaces.cli.session import CliSession
from backscroll.surfaces.cli.temporary_store import engine_apart
from backscroll.surfaces.i18n import t
from backscroll.surfaces.screen.table import Column, table
from backscroll.surfaces.words.exports import say_export


@command(
    "export",
    click.Argument(["threads"], metavar="[THREAD...]", nargs=-1),
    flag("--all", "everything"),
    option("--format", metavar="NAME", default="native", show_default=True),
    option("-o", "--output", metavar="FILE"),
    flag("--list-formats"),
)
def export_command(
    session: CliSession,
    threads: tuple[str, ...],
    everything: bool,
    format: str,
    output: str | None,
    list_formats: bool,
) -> None:
    """Export conversations."""
    if list_formats:
        _list(session)
        return
    if bool(threads) is everything:
        raise InvalidInput(t("exporting.which"), hint=t("exporting.which_hint"))
    with session.engine() as engine:
        names = None if everything else [thread_named(engine, name).id for name in threads]
        report = engine.export(names, format, None if output in (None, "-") else output)
    say_export(session.screen, report, format)


def _list(session: CliSession) -> None:
    screen = session.screen
    with engine_apart() as engine:
        formats = engine.formats()
    if session.as_json:
        screen.json([{"name": n, "label": label, "reads": r, "writes": w} for n, label, r, w in formats])
        return
    columns = [
        Column(t("columns.format"), style="strong"),
        Column(t("columns.label"), shrinks=True),
        Column(t("columns.reads")),
        Column(t("columns.writes")),
    ]
    yes = t("words.yes")
    rows = [(n, label, yes if r else "–", yes if w else "–") for n, label, r, w in formats]
    screen.lines(table(screen, columns, rows))
