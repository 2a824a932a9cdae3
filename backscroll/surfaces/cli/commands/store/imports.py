"""`import`: import conversations of other tools, once or as they grow."""

from __future__ import annotations

import signal
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import click

from backscroll.engine.exchange.discovery import discover as discovered
from backscroll.errors import BackscrollError, InvalidInput, NotFound
from backscroll.surfaces.cli.command import command, flag, option
from backscroll.surfaces.cli.error_report import describe_error
from backscroll.surfaces.cli.input_files import taken_in
from backscroll.surfaces.cli.session import CliSession
from backscroll.surfaces.cli.temporary_store import engine_apart
from backscroll.surfaces.i18n import count, t
from backscroll.surfaces.screen.plain import one_line, safe
from backscroll.surfaces.screen.progress import ProgressBar
from backscroll.surfaces.screen.sizes import size
from backscroll.surfaces.screen.table import Column, table
from backscroll.surfaces.screen.times import format_time
from backscroll.surfaces.words import arrivals

if TYPE_CHECKING:
    from backscroll.engine.engine import Engine
    from backscroll.engine.exchange.discovery import HistoryFile
    from backscroll.engine.exchange.imports import ImportReport
    from backscroll.vocab.part import Json

_LISTED = 30


@dataclass(frozen=True, slots=True)
class _ImportOptions:
    format: str | None
    dry_run: bool
    again: bool
    project: str | None


@command(
    "import",
    click.Argument(["paths"], metavar="[PATH...]", nargs=-1),
    option("--format", metavar="NAME"),
    option("--project", metavar="NAME"),
    option("--user", metavar="NAME"),
    flag("--dry-run"),
    flag("--again"),
    flag("--discover"),
    flag("--watch"),
    flag("--yes", "-y"),
)
def import_command(
    session: CliSession,
    paths: tuple[str, ...],
    format: str | None,
    project: str | None,
    user: str | None,
    dry_run: bool,
    again: bool,
    discover: bool,
    watch: bool,
    yes: bool,
) -> None:
    """Import conversations."""
    session.user = user
    if not paths and not discover:
        raise InvalidInput(t("importing.no_path"), hint=t("importing.no_path_hint"))
    if watch:
        with session.engine(make=True) as engine:
            _watch(session, engine, paths, discovered=discover)
        return
    outcome = _ImportOutcome()
    if discover:
        found = [d for d in discovered() if format in (None, d.format)]
        wanted = _confirm_import(session, found, yes=yes, dry_run=dry_run)
        paths = (*paths, *(d.path for d in found)) if wanted else paths
        if not paths:
            if session.as_json and not wanted:
                session.screen.json([_discovered_shape(d) for d in found])
            return
        if session.as_json and not wanted:
            outcome.discovered += found
    # A dry run, or a mistyped path, creates no store.
    nothing = dry_run or not any(Path(path).expanduser().exists() for path in paths)
    with engine_apart() if nothing and not session.has_store else session.engine(make=True) as engine:
        _import(session, engine, paths, _ImportOptions(format, dry_run, again, project), outcome)


@dataclass(slots=True)
class _ImportOutcome:
    reports: list[ImportReport] = field(default_factory=list["ImportReport"])
    failed: list[tuple[str, BackscrollError]] = field(default_factory=list[tuple[str, BackscrollError]])
    skipped: list[str] = field(default_factory=list[str])
    discovered: list[HistoryFile] = field(default_factory=list["HistoryFile"])  # but not imported


def _import(
    session: CliSession, engine: Engine, paths: Sequence[str], how: _ImportOptions, outcome: _ImportOutcome
) -> None:
    with ProgressBar(wanted=not session.as_json) as bar:

        def take(path: str) -> list[ImportReport]:
            return engine.import_path(
                path,
                format=how.format,
                dry_run=how.dry_run,
                progress=bar,
                again=how.again,
                project=how.project,
            )

        for path in paths:
            try:
                outcome.reports.extend(taken_in(path, take, outcome.skipped))
            except BackscrollError as error:  # one bad file must not keep the others out
                outcome.failed.append((path, error))
    if session.as_json:
        session.screen.json(_shape(outcome, dry_run=how.dry_run))
    else:
        _say(session, outcome, dry_run=how.dry_run)
    if outcome.failed:
        session.exit_code = outcome.failed[0][1].exit_code


def _shape(outcome: _ImportOutcome, *, dry_run: bool) -> dict[str, Json]:
    errors = [(path, describe_error(error)) for path, error in outcome.failed]
    return {
        "dry_run": dry_run,
        "reports": [arrivals.shape(report) for report in outcome.reports],
        "skipped": outcome.skipped,
        "failed": [
            {"path": path, "error": {"kind": e.kind, "message": e.message, "hint": e.hint}}
            for path, e in errors
        ],
        **({"discovered": [_discovered_shape(d) for d in outcome.discovered]} if outcome.discovered else {}),
    }


def _discovered_shape(found: HistoryFile) -> dict[str, Json]:
    return {"format": found.format, "path": found.path, "modified": found.modified, "size": found.size}


def _say(session: CliSession, outcome: _ImportOutcome, *, dry_run: bool) -> None:
    screen = session.screen
    if outcome.reports:
        if dry_run:
            screen.line(t("importing.dry_run"))
        screen.lines(arrivals.summary(screen, outcome.reports))
        arrivals.remarks(screen, outcome.reports)
    if outcome.skipped:
        screen.remark(count("importing.skipped", len(outcome.skipped)), "dim")
        for path in outcome.skipped[:_LISTED]:
            screen.remark(f"  {one_line(path)}", "dim")
    for path, error in outcome.failed:
        said = describe_error(error)
        screen.remark(t("cli.error", message=safe(said.message)), "bad")
        if path not in said.message:
            screen.remark(f"  {one_line(path)}")
        if said.hint:
            screen.remark(t("cli.hint", hint=safe(said.hint)))
    if outcome.reports and not dry_run and not outcome.failed:
        screen.remark("\n" + t("importing.next"), "dim")


def _confirm_import(session: CliSession, found: list[HistoryFile], *, yes: bool, dry_run: bool) -> bool:
    """List what was found, and ask whether to import it."""
    screen = session.screen
    if session.as_json:
        return yes or dry_run
    if not found:
        screen.line(t("importing.none_found"))
        return False
    columns = [
        Column(t("columns.format")),
        Column(t("columns.changed"), style="dim"),
        Column(t("columns.size"), right=True),
        Column(t("columns.path"), shrinks=True),
    ]
    rows = [(d.format, format_time(d.modified), size(d.size), d.path) for d in found[:_LISTED]]
    screen.lines(table(screen, columns, rows))
    if len(found) > _LISTED:
        screen.line(screen.style(t("importing.and_more", n=len(found) - _LISTED), "dim"))
    if yes or dry_run:
        return True
    screen.line()
    if not screen.can_ask:
        screen.line(t("importing.how_to_take"))
        return False
    return screen.asks(count("importing.take", len(found)))


def _watch(session: CliSession, engine: Engine, paths: Sequence[str], *, discovered: bool) -> None:
    """Follow files until Ctrl-C; each import is one line, with --json all of them are one document at the end."""
    screen = session.screen
    outcome = _ImportOutcome()
    stop = threading.Event()
    sources = _list_followed(engine, paths)

    def report_import(report: ImportReport) -> None:
        if session.as_lines:
            screen.json_line(arrivals.shape(report))
        elif session.as_json:
            outcome.reports.append(report)
        else:
            name = (report.thread or "")[:8]
            title = one_line(report.title or report.source)
            screen.line(
                f"{screen.style(name, 'strong')}  {title}  {arrivals.in_words(report.counts)}".strip()
            )
            arrivals.remarks(screen, [report])
        screen.flush()

    def enough(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    # Ctrl-C ends the watch: what is being written is finished first.
    before = {number: signal.signal(number, enough) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        if not session.as_json:
            screen.remark(t("importing.watching"), "dim")
        engine.watch(sources, report_import, stop, discovered=discovered)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if session.as_json and not session.as_lines:
        screen.json(_shape(outcome, dry_run=False))


def _list_followed(engine: Engine, paths: Sequence[str]) -> list[str]:
    """Return the files to follow: of a folder, the conversations that are in it now."""
    out: list[str] = []
    for path in paths:
        place = Path(path).expanduser()
        if not place.exists():
            raise NotFound(t("importing.no_file", path=path), hint=t("importing.no_file_hint"))
        if place.is_dir():
            found = taken_in(path, lambda inner: engine.import_path(inner, dry_run=True), [])
            out += [report.source for report in found]
        else:
            out.append(str(place))
    return list(dict.fromkeys(out))
