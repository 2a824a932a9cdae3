"""`sync`: apply another program's complete message list to a thread."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from backscroll.errors import FormatError, NotFound, StoreError
from backscroll.regular_files import read_text
from backscroll.surfaces.cli.command import command, flag, option, thread_argument
from backscroll.surfaces.cli.given_words import STDIN, from_stdin
from backscroll.surfaces.cli.references import thread_named
from backscroll.surfaces.cli.session import CliSession
from backscroll.surfaces.i18n import count, find, t
from backscroll.surfaces.i18n.translation import say
from backscroll.surfaces.screen.plain import one_line
from backscroll.surfaces.words import arrivals

if TYPE_CHECKING:
    from backscroll.engine.exchange.sync import SyncReport
    from backscroll.engine.thread import Thread

_SHOWN = 40


@command(
    "sync",
    thread_argument(),
    click.Argument(["file"], metavar="FILE"),
    option("--format", metavar="NAME"),
    option("--mode", type=click.Choice(["full", "prompt"]), default="full", show_default=True),
    flag("--complete"),
    flag("--dry-run"),
)
def sync_command(
    session: CliSession, thread: str, file: str, format: str | None, mode: Any, complete: bool, dry_run: bool
) -> None:
    """Update a thread to a list of messages."""
    lines = None if _is_stored(file) else _messages(file)
    with session.engine() as engine:
        found = thread_named(engine, thread)
        if lines is None:
            report = _from_file(found, file, format, mode, complete, dry_run)
        else:
            report = found.sync(lines, mode=mode, complete=complete, dry_run=dry_run)
    if session.as_json:
        session.screen.json(
            {
                "thread": found.id,
                "mode": mode,
                "dry_run": report.dry_run,
                "counts": arrivals.select_nonzero(report.counts),
                "operations": report.operations,
                "notes": [say(note) for note in report.notes],
                "ambiguous": [say(text) for text in report.ambiguous],
            }
        )
    else:
        _print(session, report)


def _is_stored(file: str) -> bool:
    """Return True for a file or folder that can be read more than once; a pipe cannot."""
    path = Path(file).expanduser()
    return file != STDIN and (path.is_file() or path.is_dir())


def _from_file(
    found: Thread, file: str, format: str | None, mode: Any, complete: bool, dry_run: bool
) -> SyncReport:
    """Read a conversation in any known format, else a plain list of messages, and sync it."""
    try:
        return found.sync_file(file, format=format, mode=mode, complete=complete, dry_run=dry_run)
    except FormatError:
        if format is not None or Path(file).expanduser().is_dir():
            raise
        return found.sync(_messages(file), mode=mode, complete=complete, dry_run=dry_run)


def _print(session: CliSession, report: SyncReport) -> None:
    screen = session.screen
    if not report.operations:
        screen.line(t("syncing.same"))
    else:
        title = "syncing.would" if report.dry_run else "syncing.did"
        screen.line(t(title, counts=arrivals.in_words(report.counts)))
        for operation in report.operations[:_SHOWN]:
            screen.line(f"  {_operation(operation)}")
        if len(report.operations) > _SHOWN:
            screen.line(
                screen.style("  " + t("importing.and_more", n=len(report.operations) - _SHOWN), "dim")
            )
    for note in report.notes:
        screen.line(screen.style(f"  {one_line(say(note))}", "dim"))
    if report.ambiguous:
        screen.remark(count("syncing.ambiguous", len(report.ambiguous)), "warn")
        for text in report.ambiguous:
            screen.remark(f"  {one_line(say(text))}")


def _operation(text: str) -> str:
    """Return `edit 3f2a9c1e.17` in the language in use."""
    name, _, where = text.partition(" ")
    return f"{find(f'operations.{name}') or name} {one_line(where)}"


def _messages(file: str) -> list[Any]:
    """Read the message list of a file: a JSON array, an object with `messages`, or one message per line."""
    text = _text(file)
    try:
        data: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        lines = [line for line in text.splitlines() if line.strip()]
        if len(lines) < 2:
            raise FormatError(t("syncing.no_json", file=file, what=error), hint=t("syncing.hint")) from error
        return [_line(file, number, line) for number, line in enumerate(lines, start=1)]
    if isinstance(data, dict):
        whole = cast("dict[str, Any]", data)
        data = whole.get("messages", [whole] if "role" in whole else None)
    if not isinstance(data, list):
        raise FormatError(t("syncing.no_list", file=file), hint=t("syncing.hint"))
    return cast("list[Any]", data)


def _line(file: str, number: int, line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise FormatError(
            t("syncing.bad_line", file=file, number=number, what=error), hint=t("syncing.hint")
        ) from error


def _text(file: str) -> str:
    if file == STDIN:
        return from_stdin()
    path = Path(file).expanduser()
    try:
        return read_text(path, "utf-8-sig")
    except FileNotFoundError as error:
        raise NotFound(t("syncing.no_file", file=file)) from error
    except UnicodeDecodeError as error:
        raise FormatError(t("syncing.not_text", file=file), hint=t("syncing.hint")) from error
    except OSError as error:
        raise StoreError(
            t("syncing.cannot_read", file=file, what=say(error.strerror or str(error)))
        ) from error
