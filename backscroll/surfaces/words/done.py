"""Output of commands that change something: one line for the user, the new state as JSON for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from backscroll.errors import NotFound
from backscroll.surfaces.screen.screen import Screen
from backscroll.surfaces.words import shapes

if TYPE_CHECKING:
    from backscroll.engine.thread import Thread
    from backscroll.vocab.ids import Ref
    from backscroll.vocab.message import Message


def number_of(thread: Thread, message: Ref) -> int | None:
    """Return the number of a message as `show` prints it; None if it is not in the history."""
    try:
        return thread.place(message) + 1
    except NotFound:
        return None


def message_done(screen: Screen, thread: Thread, message: Message, text: str) -> None:
    """Report a message that was written or changed."""
    if screen.as_json:
        screen.json(shapes.of_message(message, number_of(thread, message.id), thread.id))
    else:
        screen.line(text)


def thread_done(screen: Screen, thread: Thread, text: str) -> None:
    """Report a thread that was created or changed."""
    if screen.as_json:
        screen.json(shapes.of_thread(thread.info))
    else:
        screen.line(text)


def report_result(screen: Screen, document: Any, text: str) -> None:
    """Report anything else."""
    if screen.as_json:
        screen.json(document)
    else:
        screen.line(text)
