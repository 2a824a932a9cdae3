"""`edit`, `regenerate`, `choose`: edit a message, and choose among its alternatives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from backscroll.errors import Conflict, InvalidInput, NotFound
from backscroll.surfaces.cli.command import command, flag, message_argument, option, thread_argument
from backscroll.surfaces.cli.given_words import edit_in_editor, read_words, save_aside, with_words, words_of
from backscroll.surfaces.cli.references import message_named, ref_named, thread_named
from backscroll.surfaces.cli.session import CliSession
from backscroll.surfaces.i18n import t
from backscroll.surfaces.words.done import message_done, number_of

if TYPE_CHECKING:
    from backscroll.engine.engine import Engine
    from backscroll.engine.thread import Thread
    from backscroll.vocab.ids import Ref
    from backscroll.vocab.message import Message


def _text() -> click.Argument:
    return click.Argument(["text"], metavar="[TEXT]", required=False)


@command(
    "edit",
    thread_argument(),
    message_argument(),
    _text(),
    option("--seen", metavar="REVISION"),
    flag("--regenerate"),
)
def edit_command(
    session: CliSession, thread: str, message: str, text: str | None, seen: str | None, regenerate: bool
) -> None:
    """Edit a message."""
    with session.engine() as engine:
        found = thread_named(engine, thread)
        before = found.message(message_named(engine, found, message))
        saw = before.revision if seen is None else _revision_named(engine, found, before, seen)
        words = edit_in_editor(words_of(before.content)) if text is None else read_words(text)
        if words is None or (words == words_of(before.content) and not regenerate):
            message_done(session.screen, found, before, t("editing.unchanged"))
            return
        after = _write_edit(found, before, words, None if text and seen is None else saw, as_new=regenerate)
        message_done(session.screen, found, after, _account(found, after, as_new=regenerate))


def _write_edit(found: Thread, before: Message, words: str, seen: Ref | None, *, as_new: bool) -> Message:
    """Write the text; on a conflict, save it to a file before reporting the error."""
    content = with_words(before.content, words)
    try:
        if as_new:
            return found.regenerate(before.id, content, seen=seen)
        return found.edit(before.id, content, seen=seen)
    except Conflict as conflict:
        conflict.hint = t("editing.kept", path=save_aside(words))
        raise


def _account(found: Thread, after: Message, *, as_new: bool) -> str:
    if as_new:
        return t("editing.added", number=after.alternative + 1, id=after.id.short)
    number = number_of(found, after.id)
    return t("editing.edited", number=number, id=after.id.short, revision=after.revision.short)


@command("regenerate", thread_argument(), message_argument(), _text(), flag("--aside"))
def regenerate_command(session: CliSession, thread: str, message: str, text: str | None, aside: bool) -> None:
    """Add an alternative to a message."""
    words = read_words(text)
    with session.engine() as engine:
        found = thread_named(engine, thread)
        before = found.message(message_named(engine, found, message))
        after = found.regenerate(before.id, with_words(before.content, words), live=not aside)
        key = "editing.added_aside" if aside else "editing.added"
        message_done(session.screen, found, after, t(key, number=after.alternatives, id=after.id.short))


@command(
    "choose", thread_argument(), message_argument(), click.Argument(["which"], metavar="WHICH", required=True)
)
def choose_command(session: CliSession, thread: str, message: str, which: str) -> None:
    """Make another alternative the live one."""
    with session.engine() as engine:
        found = thread_named(engine, thread)
        before = found.message(message_named(engine, found, message))
        after = found.choose(before.id, _choice(engine, found, before, which))
        text = t("editing.chosen", id=after.id.short, this=after.alternative + 1, all=after.alternatives)
        message_done(session.screen, found, after, text)


def _choice(engine: Engine, found: Thread, message: Message, which: str) -> int | Ref:
    steps = {"next": 1, "prev": -1, "previous": -1}
    if which in steps:
        number = message.alternative + steps[which]
    elif which.isdecimal() and which.isascii():
        number = int(which) - 1
    elif which == "first":
        number = 0
    elif which == "last":
        number = message.alternatives - 1
    else:
        return _revision_named(engine, found, message, which)
    if not 0 <= number < message.alternatives:
        raise NotFound(
            t("editing.no_alternative", id=message.id.short, number=number + 1),
            hint=t("editing.alternatives", all=message.alternatives),
        )
    return number


def _revision_named(engine: Engine, found: Thread, message: Message, name: str) -> Ref:
    wanted = ref_named(engine, found, name)
    if all(revision.id != wanted for revision in found.revisions(message.id)):
        raise InvalidInput(
            t("editing.no_revision", id=message.id.short, revision=name), hint=t("editing.no_revision_hint")
        )
    return wanted
