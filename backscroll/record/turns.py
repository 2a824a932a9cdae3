"""Turns: a user message and all that follows until the next; numbered 1, 2, 3 … along the live history.

What precedes the first user message is turn 0. A turn keeps its id for life (it hangs on the message that opens it) and
has a version: a hash over the set of its live revisions, which changes exactly when that set does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence

from backscroll.vocab.ids import Ref, turn_uuid
from backscroll.vocab.message import Message
from backscroll.vocab.thread import Turn


def version(messages: Iterable[Message]) -> str:
    """Return the version of a turn that consists of these messages."""
    names = ",".join(sorted(str(m.revision) for m in messages))
    return hashlib.sha256(names.encode()).hexdigest()[:32]


def turn_of(thread: str, sequence: int, messages: Sequence[Message]) -> Turn:
    """Return the turn that consists of these messages; turn 0 hangs on the thread itself."""
    opening = messages[0].id if sequence else Ref(thread, 0)
    return Turn(turn_uuid(opening), sequence, messages[0].at, tuple(messages), version(messages))


def into_turns(thread: str, messages: Iterable[Message], first: int = 0) -> Iterator[Turn]:
    """Cut messages into turns, lazily. `first` is the number of the last turn that was opened before them."""
    number = first
    current: list[Message] = []
    for message in messages:
        if message.role == "user":
            if current:
                yield turn_of(thread, number, current)
            number += 1
            current = [message]
        else:
            current.append(message)
    if current:
        yield turn_of(thread, number, current)
