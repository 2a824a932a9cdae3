"""`new`, `append`, `insert`: threads and messages written by hand or by a script."""

from __future__ import annotations

import click

from backscroll.errors import InvalidInput
from backscroll.surfaces.cli.command import command, flag, option, thread_argument
from backscroll.surfaces.cli.given_words import read_words
from backscroll.surfaces.cli.references import message_named, thread_named
from backscroll.surfaces.cli.session import CliSession
from backscroll.surfaces.i18n import t
from backscroll.surfaces.screen.times import parse_time
from backscroll.surfaces.words.done import message_done, number_of, thread_done
from backscroll.vocab.message import ROLES, checked_role


def _role() -> click.Argument:
    return click.Argument(["role"], metavar="ROLE", type=click.Choice(ROLES))


def _text() -> click.Argument:
    return click.Argument(["text"], metavar="[TEXT]", required=False)


@command(
    "new",
    click.Argument(["title"], metavar="[TITLE]", required=False, default=""),
    option("--project", metavar="NAME", default=""),
    option("--user", metavar="NAME"),
    option("--key", metavar="KEY"),
    option("--kind", metavar="KIND", default="chat", show_default=True),
    option("--language", metavar="CODE", default=""),
    option("--tag", metavar="TAG", multiple=True),
)
def new_command(
    session: CliSession,
    title: str,
    project: str,
    user: str | None,
    key: str | None,
    kind: str,
    language: str,
    tag: tuple[str, ...],
) -> None:
    """Create a thread, or find the one with this key; print its id."""
    with session.engine(make=True) as engine:
        if key is None:
            made = engine.create(title, project=project, user=user, kind=kind, language=language, tags=tag)
        else:
            made = engine.thread_for(
                key, title, project=project, user=user, kind=kind, language=language, tags=tag
            )
        thread_done(session.screen, made, made.id)


@command(
    "append",
    thread_argument(),
    _role(),
    _text(),
    option("--author", metavar="NAME"),
    option("--at", metavar="TIME"),
    flag("--hidden"),
    flag("--pinned"),
)
def append_command(
    session: CliSession,
    thread: str,
    role: str,
    text: str | None,
    author: str | None,
    at: str | None,
    hidden: bool,
    pinned: bool,
) -> None:
    """Append a message; print its id."""
    words, time = read_words(text), parse_time(at)
    with session.engine() as engine:
        found = thread_named(engine, thread)
        made = found.append(checked_role(role), words, author=author, at=time, hidden=hidden, pinned=pinned)
        message_done(session.screen, found, made, made.id.short)


@command(
    "insert",
    thread_argument(),
    _role(),
    _text(),
    option("--after", metavar="MESSAGE"),
    option("--before", metavar="MESSAGE"),
    option("--author", metavar="NAME"),
    option("--at", metavar="TIME"),
)
def insert_command(
    session: CliSession,
    thread: str,
    role: str,
    text: str | None,
    after: str | None,
    before: str | None,
    author: str | None,
    at: str | None,
) -> None:
    """Insert a message between others."""
    if (after is None) is (before is None):
        raise InvalidInput(t("writing.after_or_before"), hint=t("writing.after_or_before_hint"))
    words, time = read_words(text), parse_time(at)
    with session.engine() as engine:
        found = thread_named(engine, thread)
        made = found.insert(
            checked_role(role),
            words,
            after=None if after is None else message_named(engine, found, after),
            before=None if before is None else message_named(engine, found, before),
            author=author,
            at=time,
        )
        text = t("writing.inserted", number=number_of(found, made.id), id=made.id.short)
        message_done(session.screen, found, made, text)
