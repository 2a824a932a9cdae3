"""`rename`, `tag`, `untag`, `fork`: title, tags and forks of a thread."""

from __future__ import annotations

import click

from backscroll.surfaces.cli.command import command, message_argument, option, thread_argument
from backscroll.surfaces.cli.references import message_named, thread_named
from backscroll.surfaces.cli.session import CliSession
from backscroll.surfaces.i18n import t
from backscroll.surfaces.screen.plain import one_line
from backscroll.surfaces.words.conversation import title_of
from backscroll.surfaces.words.done import thread_done


@command("rename", thread_argument(), click.Argument(["title"], metavar="TITLE", required=True))
def rename_command(session: CliSession, thread: str, title: str) -> None:
    """Give a thread a title."""
    with session.engine() as engine:
        found = thread_named(engine, thread)
        found.rename(title)
        thread_done(session.screen, found, t("describing.renamed", id=found.id[:8], title=one_line(title)))


def _tags() -> click.Argument:
    return click.Argument(["tags"], metavar="TAG...", nargs=-1, required=True)


@command("tag", thread_argument(), _tags())
def tag_command(session: CliSession, thread: str, tags: tuple[str, ...]) -> None:
    """Add tags to a thread."""
    _set_tags(session, thread, tags, on=True)


@command("untag", thread_argument(), _tags())
def untag_command(session: CliSession, thread: str, tags: tuple[str, ...]) -> None:
    """Remove tags from a thread."""
    _set_tags(session, thread, tags, on=False)


def _set_tags(session: CliSession, thread: str, tags: tuple[str, ...], *, on: bool) -> None:
    names = [tag.removeprefix("#") for tag in tags]
    with session.engine() as engine:
        found = thread_named(engine, thread)
        (found.tag if on else found.untag)(*names)
        now = " ".join(f"#{one_line(tag)}" for tag in found.info.tags) or t("describing.no_tags")
        thread_done(session.screen, found, t("describing.tags", id=found.id[:8], tags=now))


@command("fork", thread_argument(), message_argument(required=False), option("--title", metavar="TITLE"))
def fork_command(session: CliSession, thread: str, message: str | None, title: str | None) -> None:
    """Fork a thread at a message."""
    with session.engine() as engine:
        found = thread_named(engine, thread)
        at = None if message is None else message_named(engine, found, message)
        made = found.fork(at, title=title)
        info = made.info
        text = t(
            "describing.forked",
            parent=found.id[:8],
            id=made.id[:8],
            title=one_line(title_of(info)),
            n=info.messages,
        )
        thread_done(session.screen, made, text)
