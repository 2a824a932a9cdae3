"""Messages to the end of a thread: one, or many in one transaction.

Owns what a caller may say about a new message. How events are written is in `engine/pen`. Refuses histories that overlap with what is there: that is what `sync` is for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

from backscroll.engine import operations
from backscroll.engine.carrying import add_message
from backscroll.engine.checking import checked_content, checked_time
from backscroll.engine.doors import doors
from backscroll.engine.pen import Pen, Speech, ready
from backscroll.record.history import HIDDEN, PINNED
from backscroll.record.order import at_end
from backscroll.vocab.event import Event
from backscroll.vocab.foreign import ForeignMessage
from backscroll.vocab.message import ContentLike, Message, Role, checked_role
from backscroll.vocab.part import Json

if TYPE_CHECKING:
    from backscroll.engine.thread import Thread


@doors
class Appending:
    """The part of a thread that takes new messages."""

    def append(
        self,
        role: Role,
        content: ContentLike,
        *,
        author: str | None = None,
        at: str | datetime | None = None,
        hidden: bool = False,
        pinned: bool = False,
    ) -> Message:
        """Add a message to the end; durable on return."""
        thread = cast("Thread", self)
        checked, what = checked_role(role), checked_content(content, author)
        said = checked_time(at)
        flags = (HIDDEN if hidden else 0) | (PINNED if pinned else 0)

        speech = ready(Speech(checked, what), words=True)  # while others may write
        made = [(speech, operations.facts_of(checked, said, flags))]
        (message,) = thread.stroke(lambda pen: told(pen, made))
        if checked == "user" and thread.engine.settings.task_boundaries == "act":
            thread.tasks.act_on_boundary()
        return message

    def append_many(self, messages: Sequence[ForeignMessage | Mapping[str, Any]]) -> list[Message]:
        """Append messages ({role, content} dictionaries, as OpenAI Chat has them) in one transaction, all or none.

        Durable on return. The words of several hundred or more enter the index afterwards: in the background, or when
        somebody searches, which waits for them.
        """
        from backscroll.engine.syncing import foreign_messages

        thread = cast("Thread", self)
        given = foreign_messages(messages)
        if not given:
            return []
        if any(len(message.alternatives) > 1 for message in given):
            found = thread.stroke(lambda pen: [add_message(pen, message) for message in given])
            return [thread.message(ref) for ref in found]
        speeches = [speech_of(message) for message in given]
        return thread.stroke(lambda pen: told(pen, speeches))


def speech_of(message: ForeignMessage) -> tuple[Speech, Mapping[str, Json]]:
    """A message without alternatives, and the head of its event."""
    content = message.alternatives[0] if message.alternatives else message.content
    said = (message.alternative_times[0] if message.alternative_times else None) or message.at
    flags = (HIDDEN if message.hidden else 0) | (PINNED if message.pinned else 0)
    head: Mapping[str, Json] | None = None if message.source_id is None else {"src": message.source_id}
    role = checked_role(message.role)
    return Speech(role, checked_content(content, None)), operations.facts_of(role, said, flags, head)


def told(pen: Pen, speeches: Sequence[tuple[Speech, Mapping[str, Json]]]) -> list[Message]:
    """Write speeches, and give them as messages."""
    written = pen.append_all(speeches)
    return [_message(event, speech) for event, speech in written]


def _message(event: Event, speech: Speech) -> Message:
    flags = event.head.get("flags", 0)
    return Message(
        event.id,
        checked_role(event.head["role"]),
        event.id,
        speech.content,
        event.head.get("said", event.at),
        hidden=bool(flags & HIDDEN),
        pinned=bool(flags & PINNED),
        digest=speech.digest.hex(),
        position=at_end(event.seq),
    )
