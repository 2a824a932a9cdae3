"""`user correct`, `reject`, `remember`, `export`, `forget`: correcting, exporting and erasing what is known about users."""

from __future__ import annotations

import click

from backscroll.errors import InvalidInput
from backscroll.surfaces.cli.command import command, flag, option
from backscroll.surfaces.cli.families.user_views import user_argument
from backscroll.surfaces.cli.given_words import read_words
from backscroll.surfaces.cli.session import CliSession
from backscroll.surfaces.i18n import count, get_language, t
from backscroll.surfaces.screen.plain import one_line
from backscroll.surfaces.words.erasure import account_of_erasure, erasure_shape
from backscroll.surfaces.words.exports import say_export
from backscroll.surfaces.words.graph import predicate_words


def _fact() -> click.Argument:
    return click.Argument(["predicate"], metavar="FACT")


@command("user-correct", user_argument(), _fact(), click.Argument(["value"], metavar="VALUE"))
def correct(session: CliSession, user: str, predicate: str, value: str) -> None:
    """Set a fact, whatever the text says."""
    with session.engine() as engine:
        done = engine.user(user).correct(predicate, value)
    label = predicate_words(done.predicate, get_language())
    _report_change(session, t("user.corrected", label=label, value=one_line(value)), str(done.id))


@command(
    "user-reject", user_argument(), _fact(), click.Argument(["value"], metavar="[VALUE]", required=False)
)
def reject(session: CliSession, user: str, predicate: str, value: str | None) -> None:
    """Declare a fact false, whatever the text says."""
    with session.engine() as engine:
        done = engine.user(user).reject(predicate, value)
    label = predicate_words(done.predicate, get_language())
    text = t("user.rejected_all", label=label)
    if value is not None:
        text = t("user.rejected", label=label, value=one_line(value))
    _report_change(session, text, str(done.id))


@command("user-remember", user_argument(), click.Argument(["text"], metavar="[TEXT]", required=False))
def remember(session: CliSession, user: str, text: str | None) -> None:
    """Add a fact about a user."""
    words = read_words(text)
    with session.engine() as engine:
        made = engine.user(user).remember(words)
    _report_change(session, t("memory.added", memory=made.id), made.id)


def _report_change(session: CliSession, text: str, id: str) -> None:
    if session.as_json:
        session.screen.json({"id": id})
    else:
        session.screen.line(text)


@command(
    "user-export",
    user_argument(),
    option("--format", metavar="NAME", default="native", show_default=True),
    option("-o", "--output", metavar="FILE"),
)
def export(session: CliSession, user: str, format: str, output: str | None) -> None:
    """Export everything about a user."""
    with session.engine() as engine:
        report = engine.user(user).export(None if output in (None, "-") else output, format)
    say_export(session.screen, report, format)


@command("user-forget", user_argument(), flag("--yes", "-y"), flag("--keep-shared"))
def forget(session: CliSession, user: str, yes: bool, keep_shared: bool) -> None:
    """Erase everything about a user permanently."""
    screen = session.screen
    with session.engine() as engine:
        somebody = engine.user(user)
        if not yes:
            if not screen.can_ask:
                raise InvalidInput(t("forgetting.not_asked"), hint=t("forgetting.not_asked_hint"))
            would = somebody.forget(dry_run=True, keep_shared=keep_shared)
            threads, messages = (
                count("words.threads", len(would.threads)),
                count("words.messages", would.messages),
            )
            screen.line(
                screen.style(t("user.would", user=one_line(user), threads=threads, messages=messages), "warn")
            )
            screen.line(t("forgetting.everywhere"))
            if not screen.asks(t("forgetting.sure")):
                screen.line(t("forgetting.kept"))
                return
        done = somebody.forget(keep_shared=keep_shared)
    if session.as_json:
        screen.json(erasure_shape(done))
    else:
        account_of_erasure(screen, done)
