"""`chat`: talk to the agent in this terminal; also the default of `backscroll` in a terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from backscroll.config import CHOICES
from backscroll.errors import InvalidInput
from backscroll.surfaces.cli.command import command, flag, option, thread_argument
from backscroll.surfaces.cli.session import CliSession
from backscroll.surfaces.i18n import t

if TYPE_CHECKING:
    from backscroll.agent.agent import Agent
    from backscroll.engine.thread import Thread
    from backscroll.surfaces.chat.person import TerminalPerson


@command(
    "chat",
    thread_argument(required=False),
    flag("--continue", "-c", "last"),
    flag("--new", "new"),
    flag("--pick", "pick"),
    option("--provider", metavar="NAME"),
    option("--model", metavar="MODEL"),
    option("--user", metavar="NAME"),
    option("--root", metavar="DIR"),
    option("--approve", metavar="MODE", type=click.Choice(CHOICES["agent_approval"])),
    option("--sandbox", metavar="MODE", type=click.Choice(CHOICES["agent_sandbox"])),
)
def chat_command(
    session: CliSession,
    thread: str | None,
    last: bool,
    new: bool,
    pick: bool,
    provider: str | None,
    model: str | None,
    user: str | None,
    root: str | None,
    approve: str | None,
    sandbox: str | None,
) -> None:
    """Talk to the agent in this terminal."""
    session.sandbox, session.user = sandbox, user
    chat(
        session,
        thread,
        last=last,
        new=new,
        pick=pick,
        provider=provider,
        model=model,
        root=root,
        approve=approve,
    )


def chat(
    session: CliSession,
    thread: str | None = None,
    *,
    last: bool = False,
    new: bool = False,
    pick: bool = False,
    provider: str | None = None,
    model: str | None = None,
    root: str | None = None,
    approve: str | None = None,
) -> None:
    """Open the store, find the thread, and run the chat until the user leaves."""
    if session.as_json or not in_terminal():
        raise InvalidInput(t("chat.needs_terminal"), hint=t("chat.needs_terminal_hint"))
    # start-up: the help page of this command does not need it; before the store is opened, while collection is paused
    from backscroll.agent.agent import Agent
    from backscroll.surfaces.chat.app import Chat
    from backscroll.surfaces.chat.screen.console import make_console
    from backscroll.surfaces.chat.screen.first_minute import FirstMinute
    from backscroll.surfaces.chat.startup import folder, thread_for

    given = folder(root) if root is not None or thread is None else None
    with session.engine(make=True) as engine:
        session.check_sandbox(engine)
        fresh = next(iter(engine.threads(limit=1)), None) is None
        found = thread_for(
            engine, given or folder(None), name=thread, last=last, pick=pick, new=new, user=session.user
        )
        if found is None:
            return

        def make_agent(thread: Thread, person: TerminalPerson) -> Agent:
            made = Agent(
                thread,
                provider=provider,
                model=model or "",
                root=given if root is not None else None,
                person=person,
            )
            if approve is not None:
                made.rules.mode = approve
            return made

        Chat(engine, found, make_agent, make_console(), first_minute=FirstMinute(new=fresh)).run()


def in_terminal() -> bool:
    """Return True if standard input and output are terminals."""
    return sys.stdin.isatty() and sys.stdout.isatty()
