"""`log`: show a thread's event log, newest first."""

from __future__ import annotations

from itertools import islice

from backscroll.surfaces.cli.command import command, flag, limit_option, thread_argument
from backscroll.surfaces.cli.references import thread_named
from backscroll.surfaces.cli.session import CliSession
from backscroll.surfaces.i18n import count, t
from backscroll.surfaces.screen.table import Column, table
from backscroll.surfaces.screen.times import format_time
from backscroll.surfaces.words import shapes
from backscroll.surfaces.words.events import kind_words, what_happened


@command("log", thread_argument(), limit_option(30), flag("--oldest-first"))
def log_command(session: CliSession, thread: str, limit: int, oldest_first: bool) -> None:
    """Print the events of a thread."""
    screen = session.screen
    with session.engine() as engine:
        found = thread_named(engine, thread)
        walk = found.events(newest_first=not oldest_first)
        if screen.as_json:
            events = islice(walk, limit or None)
            screen.json_list(shapes.of_event(event, what_happened(event)) for event in events)
            return
        events = list(islice(walk, limit or None))
        left = found.head - len(events)
    columns = [
        Column(t("columns.event"), right=True, style="strong"),
        Column(t("columns.what"), style="good"),
        Column(t("columns.message"), style="dim"),
        Column(t("columns.who"), shrinks=True),
        Column(t("columns.when"), style="dim"),
        Column(t("columns.details"), shrinks=True),
    ]
    rows = [
        (
            str(e.seq),
            kind_words(e),
            ""
            if e.message is None
            else f".{e.message.seq}"
            if e.message.thread == found.id
            else e.message.short,
            e.actor,
            format_time(e.at, short=True),
            what_happened(e),
        )
        for e in events
    ]
    screen.lines(table(screen, columns, rows))
    if left > 0:
        screen.remark(count("log.more", left), "dim")
