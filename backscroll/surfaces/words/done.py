"""What a command that changed something says: one line for people, the new state as JSON for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from backscroll.errors import NotFound
from backscroll.surfaces.cli.session import CliSession
from backscroll.surfaces.cli.words import shapes

if TYPE_CHECKING:
    from backscroll.engine.thread import Thread
    from backscroll.vocab.ids import Ref
    from backscroll.vocab.message import Message


def number_of(thread: Thread, message: Ref) -> int | None:
    """The number of a message as `show` prints it; None for one that does not stand in the history."""
    try:
        return thread.place(message) + 1
    except NotFound:
        return None


def message_done(session: CliSession, thread: Thread, message: Message, text: str) -> None:
    """Report a message that was written or changed."""
    if session.as_json:
        session.screen.json(shapes.of_message(message, number_of(thread, message.id), thread.id))
    else:
        session.screen.line(text)


def thread_done(session: CliSession, thread: Thread, text: str) -> None:
    """Report a thread that was made or changed."""
    if session.as_json:
        session.screen.json(shapes.of_thread(thread.info))
    else:
        session.screen.line(text)


def report_result(session: CliSession, document: Any, text: str) -> None:
    """Report anything else."""
    if session.as_json:
        session.screen.json(document)
    else:
        session.screen.line(text)
