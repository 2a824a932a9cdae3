"""`summary`: summarize a conversation for the user."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from backscroll.surfaces.cli.command import command, option, thread_argument
from backscroll.surfaces.cli.references import thread_named
from backscroll.surfaces.cli.session import CliSession
from backscroll.surfaces.screen.cells import wrap
from backscroll.surfaces.screen.plain import safe

if TYPE_CHECKING:
    from backscroll.surfaces.screen.screen import Screen


@command(
    "summary",
    thread_argument(),
    option("--budget", type=click.IntRange(min=1), default=800, metavar="TOKENS", show_default=True),
)
def summary_command(session: CliSession, thread: str, budget: int) -> None:
    """Summarize a conversation."""
    with session.engine() as engine:
        found = thread_named(engine, thread)
        text = found.summary(budget)
        if session.as_json:
            session.screen.json({"thread": found.id, "summary": text})
        else:
            for line in safe(text).splitlines():
                _print(session.screen, line)


def _print(screen: Screen, line: str) -> None:
    """Print a line, wrapped; continuation lines of an entry are indented, and titles are highlighted."""
    if not line.startswith("- "):
        screen.lines(screen.style(part, "strong") for part in wrap(line, screen.room(0)) or [""])
        return
    first, *rest = wrap(line[2:], screen.room(2)) or [""]
    screen.line(f"- {first}")
    screen.lines(f"  {part}" for part in rest)
