"""`delete`, `restore`, `hide`, `unhide`, `pin`, `unpin`, `move`: the place of messages, and their marks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from backscroll.errors import InvalidInput
from backscroll.surfaces.cli.command import (
    command,
    flag,
    message_argument,
    messages_argument,
    option,
    thread_argument,
)
from backscroll.surfaces.cli.references import deleted_named, message_named, messages_named, thread_named
from backscroll.surfaces.cli.session import CliSession
from backscroll.surfaces.i18n import count, t
from backscroll.surfaces.words.done import message_done, number_of, report_result

if TYPE_CHECKING:
    from backscroll.engine.thread import Thread
    from backscroll.vocab.ids import Ref


def _mark(session: CliSession, thread: str, messages: tuple[str, ...], what: str) -> None:
    """Mark messages, or remove a mark; all of them in one stroke, which one `undo` reverts."""
    with session.engine() as engine:
        found = thread_named(engine, thread)
        if what == "restore":
            refs = deleted_named(engine, found, messages)
        else:
            refs = messages_named(engine, found, messages)
        act: Callable[..., int] = getattr(found, what)
        changed = act(*refs)
    text = count(f"marking.{what}", changed) if changed else t("marking.nothing")
    report_result(session.screen, _document(found, refs, changed), text)


def _document(thread: Thread, refs: list[Ref], changed: int) -> dict[str, object]:
    return {"thread": thread.id, "messages": [str(ref) for ref in refs], "changed": changed}


@command("delete", thread_argument(), messages_argument())
def delete_command(session: CliSession, thread: str, messages: tuple[str, ...]) -> None:
    """Delete messages from the history."""
    _mark(session, thread, messages, "delete")


@command("restore", thread_argument(), messages_argument())
def restore_command(session: CliSession, thread: str, messages: tuple[str, ...]) -> None:
    """Restore deleted messages."""
    _mark(session, thread, messages, "restore")


@command("hide", thread_argument(), messages_argument())
def hide_command(session: CliSession, thread: str, messages: tuple[str, ...]) -> None:
    """Hide messages from prompts."""
    _mark(session, thread, messages, "hide")


@command("unhide", thread_argument(), messages_argument())
def unhide_command(session: CliSession, thread: str, messages: tuple[str, ...]) -> None:
    """Include hidden messages in prompts again."""
    _mark(session, thread, messages, "unhide")


@command("pin", thread_argument(), messages_argument())
def pin_command(session: CliSession, thread: str, messages: tuple[str, ...]) -> None:
    """Pin messages: every prompt keeps them."""
    _mark(session, thread, messages, "pin")


@command("unpin", thread_argument(), messages_argument())
def unpin_command(session: CliSession, thread: str, messages: tuple[str, ...]) -> None:
    """Unpin messages."""
    _mark(session, thread, messages, "unpin")


@command("move", thread_argument(), message_argument(), option("--after", metavar="MESSAGE"), flag("--first"))
def move_command(session: CliSession, thread: str, message: str, after: str | None, first: bool) -> None:
    """Move a message."""
    if (after is None) is not first:
        raise InvalidInput(t("marking.after_or_first"), hint=t("marking.after_or_first_hint"))
    with session.engine() as engine:
        found = thread_named(engine, thread)
        moved = found.move(
            message_named(engine, found, message),
            after=None if after is None else message_named(engine, found, after),
        )
        text = t("marking.moved", id=moved.id.short, number=number_of(found, moved.id))
        message_done(session.screen, found, moved, text)
