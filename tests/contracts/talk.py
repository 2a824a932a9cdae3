"""Short ways to say in a test what a conversation holds."""

from __future__ import annotations

from collections.abc import Iterable

import backscroll

ROLES = {"u": "user", "a": "assistant", "s": "system", "t": "tool"}


def say(thread: backscroll.Thread, *lines: str) -> list[backscroll.Message]:
    """Append `u hello`, `a hi` and so on; gives the messages."""
    return [thread.append(ROLES[line[0]], line[2:]) for line in lines]


def texts(messages: Iterable[backscroll.Message]) -> list[str]:
    """The words of each message."""
    return [message.text for message in messages]


def last_event(thread: backscroll.History) -> backscroll.Event:
    """The newest event of a log."""
    return next(iter(thread.events(newest_first=True)))


def kinds(thread: backscroll.History) -> list[str]:
    """What happened, in order."""
    return [event.kind.value for event in thread.events()]
