"""`summary`: where a conversation stands, for a person."""

from __future__ import annotations

import click

from backscroll.surfaces.cli.addressing import thread_named
from backscroll.surfaces.cli.command import command, option, thread_argument
from backscroll.surfaces.cli.plain import safe
from backscroll.surfaces.cli.session import Session


@command(
    "summary",
    thread_argument(),
    option("--budget", type=click.IntRange(min=1), default=800, metavar="TOKENS", show_default=True),
)
def summary_command(session: Session, thread: str, budget: int) -> None:
    """Tell where a conversation stands."""
    with session.engine() as engine:
        found = thread_named(engine, thread)
        text = found.context_summary(budget)
        if session.as_json:
            session.screen.json({"thread": found.id, "summary": text})
        else:
            session.screen.line(safe(text))
