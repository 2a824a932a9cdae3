"""A thread as a message list for programs that keep their own: its current messages, and items of the Responses wire in both directions.

Owns which messages such a list contains, and a lossless round trip of items, including those we do not understand.
Frameworks are in `surfaces/adapters`; complete lists are recorded by `engine/calls/capture`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from backscroll.engine.calls.capture import PROGRAM, append_all
from backscroll.errors import InvalidInput, NotFound
from backscroll.formats.losses import quiet
from backscroll.formats.openai.responses_item import VENDOR, items_of, message_from_item
from backscroll.formats.sources.json_text import dumps, object_in
from backscroll.vocab.foreign import ForeignMessage
from backscroll.vocab.message import Content, Message
from backscroll.vocab.part import Json, Opaque

if TYPE_CHECKING:
    from backscroll.engine.thread import Thread

_WHOLE = "item"  # the kind of a part that holds an item we cannot parse


def iterate_spoken(thread: Thread, *, newest_first: bool = False) -> Iterator[Message]:
    """Yield what a program's own list would hold: live and not hidden, without the system prompt that we maintain."""
    for message in thread.messages(newest_first=newest_first):
        about = cast("Mapping[str, Json]", message.content.metadata.get("act") or {})
        if not message.hidden and not (message.role == "system" and about.get("system")):
            yield message


def clear(thread: Thread) -> int:
    """Delete all messages of the list in one stroke; `undo` by the same actor restores them. Return how many."""
    return thread.as_actor(PROGRAM).delete(*(m.id for m in thread.messages()))


def give_back(thread: Thread) -> bool:
    """Undo the program's last operation (`clear`, a popped item); False if there is none of its own."""
    try:
        thread.as_actor(PROGRAM).undo()
    except NotFound:
        return False
    return True


# -- items of the Responses wire ---------------------------------------------------------------------------------


def heard_item(item: Mapping[str, Json]) -> ForeignMessage:
    """Convert an item to a message; one that we cannot parse is kept verbatim."""
    found = message_from_item(item)
    if found is not None:
        return ForeignMessage(*found)
    return ForeignMessage("assistant", Content((Opaque(VENDOR, _WHOLE, dumps(dict(item))),)))


def told_items(thread: Thread, message: Message) -> list[dict[str, Json]]:
    """Return the items of a message: those it came from, or what the wire would send."""
    first = message.parts[0] if message.parts else None
    if isinstance(first, Opaque) and first.vendor == VENDOR and first.kind == _WHOLE:
        whole = object_in(first.raw)
        if whole is not None:
            return [whole]
    return items_of(message.role, message.content, thread.engine.blob, quiet)


def add_items(thread: Thread, items: Sequence[Json]) -> None:
    """Append items to a thread, all or none."""
    for number, item in enumerate(items):
        if not isinstance(item, Mapping):
            raise InvalidInput(
                f"entry {number} is not an item", hint="expected messages, calls, outputs and reasoning"
            )
    append_all(thread, [heard_item(cast("Mapping[str, Json]", item)) for item in items])


def newest_items(thread: Thread, limit: int | None = None) -> list[dict[str, Json]]:
    """Return the items of a thread, the newest `limit` of them, oldest first."""
    out: list[dict[str, Json]] = []
    if limit is not None and limit <= 0:
        return out
    for message in iterate_spoken(thread, newest_first=True):
        out.extend(reversed(told_items(thread, message)))
        if limit is not None and len(out) >= limit:
            break
    return out[:limit][::-1]


def pop_item(thread: Thread) -> dict[str, Json] | None:
    """Delete the newest item and return it; `give_back` restores it."""
    for message in iterate_spoken(thread, newest_first=True):
        items = told_items(thread, message)
        if not items:
            continue  # contains nothing that this wire can express
        pen = thread.as_actor(PROGRAM)
        rest = _without_last(thread, message, len(items) - 1)
        if rest is None:
            pen.delete(message.id)
        else:
            pen.edit(message.id, rest)
        return items[-1]
    return None


def _without_last(thread: Thread, message: Message, wanted: int) -> Content | None:
    """Return a message with fewer parts, so that it makes one item less; None if nothing would be left."""
    parts = message.parts
    while wanted and parts:
        parts = parts[:-1]
        less = replace(message.content, parts=parts)
        if len(items_of(message.role, less, thread.engine.blob, quiet)) <= wanted:
            return less
    return None
