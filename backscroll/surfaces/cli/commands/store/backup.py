"""`backup`, `restore-backup`: copy the whole store, and restore a copy."""

from __future__ import annotations

from pathlib import Path

import click

from backscroll.errors import InvalidInput
from backscroll.surfaces.cli.command import command, flag
from backscroll.surfaces.cli.session import CliSession
from backscroll.surfaces.i18n import t
from backscroll.surfaces.screen.plain import one_line
from backscroll.surfaces.screen.sizes import size
from backscroll.surfaces.words.done import report_result


def _file() -> click.Argument:
    return click.Argument(["file"], metavar="FILE")


@command("backup", _file())
def backup_command(session: CliSession, file: str) -> None:
    """Copy the store into a new file."""
    target = Path(file).expanduser()
    with session.engine() as engine:
        engine.backup(target)
    wrote = target.stat().st_size
    report_result(
        session.screen,
        {"file": str(target), "bytes": wrote},
        t("keeping.backed_up", path=one_line(file), size=size(wrote)),
    )


@command("restore-backup", _file(), flag("--yes", "-y"))
def restore_backup_command(session: CliSession, file: str, yes: bool) -> None:
    """Replace the store with a backup."""
    # start-up: loaded when the command runs
    from backscroll.engine.log.backups import restore_backup

    where = session.place
    if "://" in where:
        raise InvalidInput(t("keeping.only_files"), hint=t("keeping.only_files_hint"))
    store, source = Path(where), Path(file).expanduser()
    if store.exists() and source.is_file() and not yes:
        if not session.screen.can_ask:
            raise InvalidInput(t("keeping.there_is_one", path=where), hint=t("keeping.there_is_one_hint"))
        session.screen.line(t("keeping.will_replace", path=one_line(where)))
        if not session.screen.asks(t("keeping.sure")):
            return
    aside = restore_backup(source, store)
    text = t("keeping.restored", path=one_line(file), store=one_line(where))
    if aside is not None:
        text += "\n" + t("keeping.aside", path=one_line(str(aside)))
    report_result(session.screen, {"store": where, "kept": None if aside is None else str(aside)}, text)
