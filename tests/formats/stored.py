"""What a thread looks like when it comes back out of a store: for tests that import, keep, and export again."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace

from backscroll.record.chain import from_bytes, to_bytes
from backscroll.record.content import encode, original
from backscroll.vocab.foreign import Aside, ForeignCodeChange, ForeignMessage, ForeignThread, Item
from backscroll.vocab.message import Content
from backscroll.vocab.part import Media, Opaque, Part, Text, ToolResult

LOGGED = "2031-01-02T03:04:05+00:00"


def stored(thread: ForeignThread) -> tuple[ForeignThread, Callable[[str], bytes | None]]:
    """The thread with its contents sealed and opened again, bytes as blobs, and no source line numbers left."""
    blobs: dict[str, bytes] = {}
    items = [_kept(item, blobs) for item in thread.items]
    back = replace(thread, items=items, metadata=from_bytes(to_bytes(thread.metadata)))
    return back, blobs.get


def _kept(item: Item, blobs: dict[str, bytes]) -> Item:
    if isinstance(item, ForeignMessage):
        return replace(
            item,
            content=_content(item.content, blobs),
            alternatives=tuple(_content(content, blobs) for content in item.alternatives),
            at=item.at or LOGGED,
            line=None,
        )
    if isinstance(item, Aside):
        return replace(item, at=item.at or LOGGED, line=None)
    if isinstance(item, ForeignCodeChange):
        return replace(item, at=item.at or LOGGED)
    return item


def _content(content: Content, blobs: dict[str, bytes]) -> Content:
    parts = tuple(_part(part, blobs) for part in content.parts)
    return original(encode(Content(parts, content.author, content.metadata)))


def _part(part: Part, blobs: dict[str, bytes]) -> Part:
    if isinstance(part, Media) and part.data is not None:
        digest = hashlib.sha256(part.data).hexdigest()
        blobs[digest] = part.data
        return replace(part, data=None, blob=digest)
    if isinstance(part, ToolResult):
        inner = tuple(p for c in part.content if isinstance(p := _part(c, blobs), Text | Media | Opaque))
        return replace(part, content=inner)
    return part
