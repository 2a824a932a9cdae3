"""Handles: short references in a prompt to messages that it does not show.

`[bs:17]` is the message that event 17 of this thread created, `[bs:17-42]` the messages from one to the
other, `[bs:3f2a9c1e.17]` a message of another thread. A handle never changes, whatever is edited.
"""

from __future__ import annotations

from typing import NamedTuple

from backscroll.errors import InvalidInput
from backscroll.vocab.ids import LAST, Ref
from backscroll.vocab.values.pattern import late

_SHAPE = late(r"\[?(?:bs:)?(?:([0-9a-f]{8,32})\.)?([1-9][0-9]{0,9})(?:-([1-9][0-9]{0,9}))?\]?")
#: A handle in a text.
IN_TEXT = late(r"\[bs:(?:[0-9a-f]{8,32}\.)?[1-9][0-9]{0,9}(?:-[1-9][0-9]{0,9})?\]")


class Handle(NamedTuple):
    """The target of a handle."""

    first: int
    last: int
    thread: str | None = (
        None  # the first digits of another thread's id; None: the thread in which it was read
    )

    def __str__(self) -> str:
        where = f"{self.thread[:8]}." if self.thread else ""
        return (
            f"[bs:{where}{self.first}]"
            if self.first == self.last
            else f"[bs:{where}{self.first}-{self.last}]"
        )


def handle_of(first: Ref, last: Ref | None = None, *, elsewhere: bool = False) -> str:
    """Return the handle of a message or range; with `elsewhere` it also works in other threads."""
    return str(Handle(first.seq, (last or first).seq, first.thread if elsewhere else None))


def parse_handle(text: str) -> Handle:
    """Parse a handle; brackets and `bs:` are optional."""
    found = _SHAPE.fullmatch(text.strip())
    if not found or max(int(found[2]), int(found[3] or 1)) > LAST:
        raise InvalidInput(f"not a handle: {text!r}", hint="handles look like [bs:17] or [bs:17-42]")
    first = int(found[2])
    return Handle(first, int(found[3] or first), found[1])


def thread_of(handle: str, home: str) -> str | None:
    """Return the id prefix of the thread that a handle names, unless it is the current thread."""
    named = parse_handle(handle).thread
    return None if named is None or home.startswith(named) else named


def qualify_handles(text: str, thread: str) -> str:
    """Make the handles of a text valid outside its thread: each one without a thread gets this one."""
    return IN_TEXT.sub(lambda found: _qualify_handle(found[0], thread), text)


def _qualify_handle(handle: str, thread: str) -> str:
    return handle if "." in handle else handle.replace("[bs:", f"[bs:{thread[:8]}.", 1)
