"""Files of Anthropic messages: a request body with `system` and `messages`, a bare list, or one of these per line.

Owns: recognising, reading and writing them, in the shape they had. The plain functions for programs are re-exported from
`anthropic/message`. Entries that are not messages are kept as asides, with a problem.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from backscroll.formats.anthropic.message import (
    ROLES,
    AnthropicPrompt,
    Joiner,
    message_from_anthropic,
    messages_from_anthropic,
    messages_to_anthropic,
    system_from_anthropic,
)
from backscroll.formats.anthropic.parts import VENDOR, parts_from
from backscroll.formats.losses import ExportLosses
from backscroll.formats.shape import Blobs, Format, FormatOutput, Source
from backscroll.formats.sources.containers import (
    MessageList,
    Shape,
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

__all__ = ["FORMAT", "AnthropicPrompt", "messages_from_anthropic", "messages_to_anthropic"]

_ENTRY = "anthropic"  # the kind of an aside that is an entry of the list, but no message
_BLOCK = re.compile(r'"type"\s*:\s*"(?:tool_use|tool_result|thinking|redacted_thinking)"')
_SYSTEM = re.compile(r'[{,]\s*"system"\s*:\s*["\[]')


def _sniff(source: Source) -> float:
    if source.is_folder:
        return 0.0
    head = source.head()
    likely = sniff_messages(head, _looks)
    has_prompt = head.lstrip().startswith("{") and _SYSTEM.search(head)
    return max(likely, 0.85) if likely and has_prompt else likely


def _looks(message: Mapping[str, Json], text: str) -> float:
    if as_text(message.get("role")) not in ROLES or "content" not in message or "type" in message:
        return 0.0
    if as_array(message["content"]) is None and not isinstance(message["content"], str):
        return 0.0
    return 0.75 if _BLOCK.search(text) else 0.3


def _read(source: Source) -> Iterator[ForeignThread]:
    return (_thread(conversation) for conversation in conversations(source))


def _thread(conversation: MessageList) -> ForeignThread:
    document = dict(conversation.document)
    prompt = document.pop("system", None)
    if prompt is None and "system" in conversation.document:
        document["system"] = None
    entries = conversation.entries
    given = document.get("title")
    title = short_title(given) if isinstance(given, str) else ""
    if not title and not isinstance(entries, Iterator):
        data = (as_object(entry[1]) for entry in entries if isinstance(entry, tuple))
        spoken = (parts_from(d.get("content")) for d in data if d is not None and d.get("role") == "user")
        title = next(
            filter(None, (short_title(p.text) for ps in spoken for p in ps if isinstance(p, Text))), ""
        )
    meta = {"shape": conversation.shape, "document": document}
    items = _items(conversation, prompt)
    return ForeignThread(VENDOR, conversation.name, items, title=title, metadata={VENDOR: meta})


def _items(conversation: MessageList, prompt: Json) -> Iterator[Item]:
    if prompt is not None:
        yield ForeignMessage("system", system_from_anthropic(prompt))
    for found in conversation.entries:
        if not isinstance(found, tuple):
            yield found
            continue
        line, value = found
        data = as_object(value)
        if data is None or as_text(data.get("role")) not in ROLES:
            yield Problem("not a message: an object with a known role was expected", line)
            yield Aside(_ENTRY, dumps(value), line=line)
            continue
        for role, content in message_from_anthropic(data):
            yield ForeignMessage(role, content, line=line)


def _write(thread: ForeignThread, blobs: Blobs) -> FormatOutput:
    problems: list[Problem] = []
    meta = of_vendor(thread.metadata, VENDOR)
    shape, document = shape_of(meta.get("shape")), dict(as_object(meta.get("document")) or {})
    if not meta and thread.title:
        document["title"] = thread.title
    return FormatOutput(
        write_document(shape, document, _texts(thread, document, shape, blobs, problems)), problems
    )


def _texts(
    thread: ForeignThread, document: dict[str, Json], shape: Shape, blobs: Blobs, problems: list[Problem]
) -> Iterator[str]:
    """Yield the wire messages as JSON; `document` has its system prompt before the first one is yielded."""
    unsaid = ExportLosses("the Anthropic format", problems)
    joiner = Joiner(blobs, unsaid.note, top_level=shape in ("object", "row"))
    kept_kinds = (_ENTRY, MALFORMED, UNKNOWN) if shape == "rows" else (_ENTRY,)
    told = False
    for item in thread.items:
        ready: Iterator[dict[str, Json]] = iter(())
        if isinstance(item, ForeignMessage):
            unsaid.flags(item)
            ready = joiner.add(item)
        elif isinstance(item, Aside) and item.kind in kept_kinds:
            ready = joiner.end()
        else:
            unsaid.leave_out(item)
        for wire in ready:
            told = told or _tell(joiner, document)
            yield dumps(wire)
        if isinstance(item, Aside) and item.kind in kept_kinds:
            told = told or _tell(joiner, document)
            yield item.raw
    told = told or _tell(joiner, document)  # a thread may consist of its prompt alone
    yield from (dumps(wire) for wire in joiner.end())
    unsaid.close()


def _tell(joiner: Joiner, document: dict[str, Json]) -> bool:
    prompt = joiner.system
    if prompt is not None:
        document["system"] = prompt
    return True


FORMAT = Format("anthropic", "Anthropic messages", ".json", _sniff, _read, _write)
