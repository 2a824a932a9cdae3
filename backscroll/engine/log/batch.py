"""Append messages to a thread: one, or many in one transaction.

Owns what a caller may specify about a new message. Events are written in `engine/core/pen`. For message lists that overlap
with the history, use sync.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from backscroll.engine.core.checks import checked_content, checked_metadata, checked_time
from backscroll.engine.core.pen import MessageDraft, Pen, ready
from backscroll.engine.log import operations
from backscroll.engine.log.writer import add_message
from backscroll.errors import InvalidInput
from backscroll.formats.anthropic.message import messages_from_anthropic
from backscroll.formats.content_blocks import is_anthropic
from backscroll.formats.openai.message import messages_from_openai
from backscroll.record.history import HIDDEN, PINNED
from backscroll.record.order import at_end
from backscroll.vocab.event import Event
from backscroll.vocab.foreign import ForeignMessage
from backscroll.vocab.message import ContentLike, Message, Role, checked_role
from backscroll.vocab.part import Json

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import ThreadScope

#: What `extend` accepts as a message.
MessageLike: TypeAlias = ForeignMessage | Message | Mapping[str, Any] | tuple[Role, ContentLike]


def append(
    thread: ThreadScope,
    role: Role,
    content: ContentLike,
    *,
    author: str | None = None,
    at: str | datetime | None = None,
    hidden: bool = False,
    pinned: bool = False,
    metadata: Mapping[str, Json] | None = None,
) -> Message:
    """Append a message; see `Thread.append`."""
    checked, what = checked_role(role), checked_content(content, author)
    if metadata:
        what = replace(what, metadata={**what.metadata, **checked_metadata(metadata)})
    said = checked_time(at)
    flags = (HIDDEN if hidden else 0) | (PINNED if pinned else 0)

    speech = ready(MessageDraft(checked, what), words=True)  # outside of the write transaction
    made = [(speech, operations.facts_of(checked, said, flags))]
    (message,) = thread.stroke(lambda pen: write_messages(pen, made))
    return message


def extend(thread: ThreadScope, messages: Iterable[MessageLike]) -> list[Message]:
    """Append many messages in one transaction, all or none; see `Thread.extend`."""
    given = foreign_messages(messages)
    if not given:
        return []
    if any(len(message.alternatives) > 1 for message in given):
        found = thread.stroke(lambda pen: [add_message(pen, message) for message in given])
        return [thread.message(ref) for ref in found]
    speeches = [speech_of(message) for message in given]
    return thread.stroke(lambda pen: write_messages(pen, speeches))


def foreign_messages(messages: Iterable[MessageLike]) -> list[ForeignMessage]:
    """Convert messages from any of the forms that `extend` accepts."""
    if isinstance(messages, str | bytes | Mapping) or not isinstance(cast("Any", messages), Iterable):
        raise _no_list(f"not a list of messages: {type(cast('object', messages)).__name__}")
    out: list[ForeignMessage] = []
    # Consecutive dictionaries of one wire are parsed together: a tool's answer may refer only to the previous call.
    for kind, run in groupby(enumerate(messages), key=lambda item: _shape_of(*item)):
        items = [item for _, item in run]
        out += _READERS[kind](items)
    return out


def _shape_of(number: int, item: object) -> str:
    if isinstance(item, ForeignMessage | Message):
        return "foreign" if isinstance(item, ForeignMessage) else "message"
    if isinstance(item, Mapping) and "role" in item:
        return "anthropic" if is_anthropic(cast("Mapping[str, Any]", item).get("content")) else "openai"
    if isinstance(item, tuple | list) and len(cast("Sequence[Any]", item)) == 2:
        return "pair"
    raise _no_list(f"message {number} of the list is not a message: {type(cast('object', item)).__name__}")


def _no_list(what: str) -> InvalidInput:
    return InvalidInput(what, hint='pass a list such as [{"role": "user", "content": "Hello"}]')


_READERS: Mapping[str, Callable[[list[Any]], list[ForeignMessage]]] = {
    "foreign": lambda items: items,
    "message": lambda items: [_again(message) for message in items],
    "openai": messages_from_openai,
    "anthropic": messages_from_anthropic,
    "pair": lambda items: [
        ForeignMessage(checked_role(role), checked_content(what, None)) for role, what in items
    ],
}


def _again(message: Message) -> ForeignMessage:
    """Convert a message of another thread."""
    return ForeignMessage(
        message.role, message.content, at=message.at, hidden=message.hidden, pinned=message.pinned
    )


def speech_of(message: ForeignMessage) -> tuple[MessageDraft, Mapping[str, Json]]:
    """Return the draft of a message without alternatives, and the head of its event."""
    content = message.alternatives[0] if message.alternatives else message.content
    said = (message.alternative_times[0] if message.alternative_times else None) or message.at
    flags = (HIDDEN if message.hidden else 0) | (PINNED if message.pinned else 0)
    head: Mapping[str, Json] | None = None if message.source_id is None else {"src": message.source_id}
    role = checked_role(message.role)
    return MessageDraft(role, checked_content(content, None)), operations.facts_of(role, said, flags, head)


def write_messages(pen: Pen, speeches: Sequence[tuple[MessageDraft, Mapping[str, Json]]]) -> list[Message]:
    """Write drafts, and return them as messages."""
    written = pen.append_all(speeches)
    return [_message(event, speech) for event, speech in written]


def _message(event: Event, speech: MessageDraft) -> Message:
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
