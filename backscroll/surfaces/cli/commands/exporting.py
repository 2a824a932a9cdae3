"""`export`: threads in other people's shapes, or everything in our own."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from backscroll.errors import InvalidInput
from backscroll.surfaces.cli.addressing import thread_named
from backscroll.surfaces.cli.arrivals import problem_lines, problem_shape
from backscroll.surfaces.cli.command import command, flag, option
from backscroll.surfaces.cli.plain import one_line, safe
from backscroll.surfaces.cli.session import Session
from backscroll.surfaces.cli.table import Column, table
from backscroll.surfaces.i18n import count, t

if TYPE_CHECKING:
    from backscroll.engine.exporting import ExportReport


@command(
    "export",
    click.Argument(["threads"], metavar="[THREAD...]", nargs=-1),
    flag("--all", "everything"),
    option("--format", metavar="NAME", default="native", show_default=True),
    option("-o", "--output", metavar="FILE"),
    flag("--list-formats"),
)
def export_command(
    session: Session,
    threads: tuple[str, ...],
    everything: bool,
    format: str,
    output: str | None,
    list_formats: bool,
) -> None:
    """Take conversations out."""
    if list_formats:
        _list(session)
        return
    if bool(threads) is everything:
        raise InvalidInput(t("exporting.which"), hint=t("exporting.which_hint"))
    with session.engine() as engine:
        names = None if everything else [thread_named(engine, name).id for name in threads]
        report = engine.export(names, format, None if output in (None, "-") else output)
    _say(session, report, format)


def _say(session: Session, report: ExportReport, format: str) -> None:
    screen = session.screen
    if session.as_json:
        screen.json(
            {
                "format": format,
                "files": report.files,
                "problems": [problem_shape(problem) for problem in report.problems],
                "text": report.text,
            }
        )
        return
    if report.text is not None:
        # To a file or a program the text goes as it is; a terminal must not obey what is in it.
        if screen.terminal:
            screen.raw(safe(report.text))
        else:
            sys.stdout.flush()
            sys.stdout.buffer.write(report.text.encode("utf-8", "replace"))
            sys.stdout.buffer.flush()
    for name in report.files:
        screen.line(t("exporting.wrote", path=one_line(name)))
    if report.problems:
        screen.remark(count("exporting.unsaid", len(report.problems)), "warn")
        for line in problem_lines(("", problem) for problem in report.problems):
            screen.remark(f"  {line}")


def _list(session: Session) -> None:
    from backscroll.surfaces.cli.apart import engine_apart

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
