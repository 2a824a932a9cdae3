"""Encode contents for sealing, and compute their hashes.

The hash covers role and content: equal messages have equal hashes anywhere, which is how imports and syncs recognise them. It
is kept beside the body and erased with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from hashlib import sha256 as _sha256
from typing import cast

from backscroll.record.chain import DAMAGE, from_bytes, make_corrupt_error, to_bytes, words_from_bytes
from backscroll.vocab.event import SPEAKING, Event, Kind
from backscroll.vocab.message import Content
from backscroll.vocab.part import (
    Json,
    Media,
    Opaque,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    part_from_json,
    part_to_json,
)


def encode(content: Content) -> bytes:
    """Return the bytes that go into the sealed body."""
    return encode_content("", content)[0]


def encode_content(role: str, content: Content) -> tuple[bytes, bytes]:
    """Return the sealed body, and the content hash, for which the order of names inside a JSON value makes no difference."""
    only = content.parts[0] if len(content.parts) == 1 else None
    if (
        type(only) is Text and not only.extra
    ):  # fast path for nearly every message; writes the same bytes directly
        parts = plain = b'[{"t":"text","text":' + to_bytes(only.text) + b"}]"
    else:
        shape = [part_to_json(p) for p in content.parts]
        parts, plain = to_bytes(shape), to_bytes(shape, in_order=True)
    rest = b""
    if content.author is not None:
        rest += b',"author":' + to_bytes(content.author)
    said = _sha256(_signature(role, content.author) + plain).digest()
    if content.metadata:
        rest += b',"meta":' + to_bytes(content.metadata)
    return b'{"parts":' + parts + rest + b"}", said


@lru_cache(maxsize=256)
def _signature(role: str, author: str | None) -> bytes:
    return to_bytes([role, author])


def original(body: bytes) -> Content:
    """Return the content exactly as `encode` wrote it, for readers, exports and comparisons."""
    return _content(from_bytes(body))


def decode(body: bytes) -> Content:
    """Return the content in valid Unicode, for all rooms."""
    return _content(words_from_bytes(body))


def _content(value: Json) -> Content:
    data = cast("dict[str, Json]", value)
    try:
        parts = tuple(part_from_json(p) for p in data["parts"])
        return Content(parts, data.get("author"), data.get("meta") or {})
    except DAMAGE as error:
        raise make_corrupt_error("the words of a message", error) from error


def digest(role: str, content: Content) -> bytes:
    """Return the content hash: role, author and parts; not the metadata, which holds times and costs."""
    return encode_content(role, content)[1]


def blobs_of(content: Content) -> Iterator[str]:
    """Yield the hashes of all bytes that a content refers to."""
    for part in content.parts:
        inner: tuple[Part, ...] = part.content if isinstance(part, ToolResult) else (part,)
        for p in inner:
            if isinstance(p, Media) and p.blob:
                yield p.blob


def blobs_in(event: Event) -> set[str]:
    """Return the hashes of the bytes that an event refers to."""
    if event.kind is Kind.TASKED:  # pictures that came with feedback
        return {str(name) for name in cast("list[Json]", event.head.get("media", []))}
    return set(blobs_of(original(event.body))) if event.kind in SPEAKING and event.body is not None else set()


def tools_of(content: Content) -> tuple[str, ...]:
    """Return the names of the tools that a content calls or answers for, each once."""
    names = [p.name for p in content.parts if isinstance(p, ToolCall | ToolResult) and p.name]
    return tuple(dict.fromkeys(names))


def searchable(content: Content) -> str:
    """Return the searchable text of a content."""
    out: list[str] = []
    if content.author:
        out.append(content.author)
    for part in content.parts:
        match part:
            case Text() | Reasoning():
                out.append(part.text)
            case ToolCall():
                out.append(part.name)
                out.append(part.arguments if isinstance(part.arguments, str) else _plain(part.arguments))
            case ToolResult():
                out.extend(p.text for p in part.content if isinstance(p, Text))
            case Media():
                out.append(part.name or part.url or "")
            case Opaque():
                pass
    return "\n".join(t for t in out if t)


def _plain(value: Json) -> str:
    """Return the text inside a JSON value, without its punctuation."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return "\n".join(f"{k} {_plain(v)}" for k, v in cast("dict[str, Json]", value).items())
    if isinstance(value, list):
        return "\n".join(_plain(v) for v in cast("list[Json]", value))
    return "" if value is None else str(value)
