"""Files of OpenAI Chat messages: a list, an object with `messages`, one conversation or one message per line.

Owns: recognising, reading and writing them, in the shape they had. The plain functions for programs are re-exported from
`openai/message`. Entries that are not messages are kept as asides, with a problem.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from backscroll.formats.losses import ExportLosses
from backscroll.formats.openai.message import (
    ROLES,
    LegacyCalls,
    message_from_openai,
    message_to_openai,
    messages_from_openai,
    openai_messages,
)
from backscroll.formats.openai.parts import VENDOR, parts_from
from backscroll.formats.shape import Blobs, Format, FormatOutput, Source
from backscroll.formats.sources.containers import (
    Found,
    MessageList,
    conversations,
    shape_of,
    sniff_messages,
    write_document,
)
from backscroll.formats.sources.json_text import dumps
from backscroll.formats.sources.rows import (
    MALFORMED,
    UNKNOWN,
    as_array,
    as_object,
    as_text,
    of_vendor,
    short_title,
)
from backscroll.vocab.foreign import Aside, ForeignMessage, ForeignThread, Item, Problem
from backscroll.vocab.part import Json, Text

__all__ = ["FORMAT", "message_from_openai", "message_to_openai", "messages_from_openai", "openai_messages"]

_ENTRY = "openai"  # the kind of an aside that is an entry of the list, but no message


def _sniff(source: Source) -> float:
    return 0.0 if source.is_folder else sniff_messages(source.head(), _looks)


def _looks(message: Mapping[str, Json], text: str) -> float:
    if as_text(message.get("role")) not in ROLES or not ("content" in message or "tool_calls" in message):
        return 0.0
    if "type" in message or "parts" in message:
        return 0.2  # other tools' records have a role too
    return 0.8 if re.search(r'"(?:tool_calls|tool_call_id|image_url)"\s*:', text) else 0.6


def _read(source: Source) -> Iterator[ForeignThread]:
    return (_thread(conversation) for conversation in conversations(source))


def _thread(conversation: MessageList) -> ForeignThread:
    given = conversation.document.get("title")
    entries = conversation.entries
    title = short_title(given) if isinstance(given, str) else ""
    if not title and not isinstance(entries, Iterator):
        title = _first_words(entries)
    meta = {"shape": conversation.shape, "document": dict(conversation.document)}
    items = _items(conversation)
    return ForeignThread(VENDOR, conversation.name, items, title=title, metadata={VENDOR: meta})


def _first_words(entries: Iterable[Found]) -> str:
    for entry in entries:
        data = as_object(entry[1]) if isinstance(entry, tuple) else None
        if data is not None and data.get("role") == "user":
            said = parts_from(data.get("content"))
            title = short_title(next((part.text for part in said if isinstance(part, Text)), ""))
            if title:
                return title
    return ""


def _items(conversation: MessageList) -> Iterator[Item]:
    pairing = LegacyCalls()
    for found in conversation.entries:
        if not isinstance(found, tuple):
            yield found
            continue
        line, value = found
        data = as_object(value)
        if data is None or as_text(data.get("role")) not in ROLES:
            yield Problem("not a chat message: an object with a known role was expected", line)
            yield Aside(_ENTRY, dumps(value), line=line)
            continue
        role, content = message_from_openai(data, pairing)
        yield ForeignMessage(role, content, line=line)


def _write(thread: ForeignThread, blobs: Blobs) -> FormatOutput:
    problems: list[Problem] = []
    meta = of_vendor(thread.metadata, VENDOR)
    shape, document = shape_of(meta.get("shape")), dict(as_object(meta.get("document")) or {})
    if not meta and thread.title:
        document = {"title": thread.title}
    return FormatOutput(write_document(shape, document, _texts(thread, shape, blobs, problems)), problems)


def _texts(thread: ForeignThread, shape: str, blobs: Blobs, problems: list[Problem]) -> Iterator[str]:
    unsaid = ExportLosses("the OpenAI chat format", problems)
    kept_kinds = (_ENTRY, MALFORMED, UNKNOWN) if shape == "rows" else (_ENTRY,)
    ours = VENDOR in thread.metadata
    waiting: dict[str, Json] | None = None  # the beginning of a reply that another tool writes in pieces
    for item in thread.items:
        if isinstance(item, ForeignMessage):
            unsaid.flags(item, author=True)
            for said in openai_messages(item.role, item.content, blobs, unsaid.note):
                joins = waiting is not None and said["role"] == "assistant"
                message = _merge_messages(waiting or {}, said) if joins else said
                if waiting is not None and not joins:
                    yield dumps(waiting)
                waiting = message if not ours and _goes_on(message) else None
                if waiting is None:
                    yield dumps(message)
        elif isinstance(item, Aside) and item.kind in kept_kinds:
            yield item.raw
        else:
            unsaid.leave_out(item)
    if waiting is not None:
        yield dumps(waiting)
    unsaid.close()


def _goes_on(message: Mapping[str, Json]) -> bool:
    """Return True if the next message may be the rest of this reply: all calls of one reply must be in one message."""
    return message["role"] == "assistant" and ("tool_calls" in message or not message.get("content"))


def _merge_messages(one: Mapping[str, Json], other: Mapping[str, Json]) -> dict[str, Json]:
    out = {**one, **other}
    for key in set(one) & set(other) - {"role"}:
        out[key] = _both(one[key], other[key])
    return out


def _both(one: Json, other: Json) -> Json:
    if not one or not other:
        return one or other
    if isinstance(one, str) and isinstance(other, str):
        return f"{one}\n\n{other}"
    lists = (
        [{"type": "text", "text": value}] if isinstance(value, str) else as_array(value)
        for value in (one, other)
    )
    return [item for value in lists for item in value or []]


FORMAT = Format("openai", "OpenAI chat messages", ".json", _sniff, _read, _write)
