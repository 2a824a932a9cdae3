"""What tests of formats share: exporting, a trip through the store's shape, and a thread that came from nowhere known."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from backscroll.formats.shape import Format
from backscroll.vocab.foreign import Aside, ForeignCodeChange, ForeignMessage, ForeignThread, Item, Problem
from backscroll.vocab.message import Content, Role
from backscroll.vocab.part import (
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
from tests.formats.memory_source import MemorySource

TRANSCRIPTS = Path(__file__).parents[3] / "shared" / "data" / "transcripts"


def transcripts(pattern: str) -> list[Any]:
    """Real files of other tools as parameters; one that skips where they are not at hand."""
    found = sorted(TRANSCRIPTS.glob(pattern))
    if not found:
        return [pytest.param(None, marks=pytest.mark.skip(reason=f"no {pattern} at hand"))]
    return [pytest.param(path, id=path.name) for path in found]


def opened(path: Path) -> MemorySource:
    return MemorySource(path.read_bytes(), path.name)


def exported(
    format: Format, thread: ForeignThread, blobs: dict[str, bytes] | None = None
) -> tuple[str, list[Problem]]:
    """The text of an export and what it could not say."""
    assert format.write is not None
    out = format.write(thread, (blobs or {}).get)
    text = "".join(out.text)
    return text, out.problems


def rows(text: str) -> list[Any]:
    """The JSON values on the lines of a text."""
    return [json.loads(line) for line in text.split("\n") if line.strip()]


class Shelf:
    """Keeps items as the store would: parts and metadata as JSON, bytes by their hash, no line numbers."""

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}

    def through(
        self, thread: ForeignThread, change: Callable[[list[Item]], None] | None = None
    ) -> ForeignThread:
        items = [self._item(item) for item in thread.items if not isinstance(item, Problem)]
        if change is not None:
            change(items)
        return replace(thread, items=items, metadata=json.loads(json.dumps(thread.metadata)))

    def _item(self, item: Item) -> Item:
        if isinstance(item, ForeignMessage):
            return replace(item, content=self._content(item.content), line=None, parent_id=None)
        return replace(item, line=None) if isinstance(item, Aside) else item

    def _content(self, content: Content) -> Content:
        kept = [json.loads(json.dumps(part_to_json(self._part(part)))) for part in content.parts]
        meta = json.loads(json.dumps(content.metadata))
        return Content(tuple(part_from_json(part) for part in kept), content.author, meta)

    def _part(self, part: Part) -> Part:
        if isinstance(part, Media) and part.data is not None:
            name = hashlib.sha256(part.data).hexdigest()
            self.blobs[name] = part.data
            return replace(part, blob=name, data=None)
        if isinstance(part, ToolResult):
            inner = (self._part(p) for p in part.content)
            return replace(part, content=tuple(p for p in inner if isinstance(p, Text | Media | Opaque)))
        return part


def said(role: Role, *parts: Part, **more: Any) -> ForeignMessage:
    """A message without anything of a vendor."""
    return ForeignMessage(role, Content(parts, more.pop("author", None)), **more)


def messages(items: Iterable[Item]) -> Iterator[ForeignMessage]:
    return (item for item in items if isinstance(item, ForeignMessage))


def from_elsewhere() -> ForeignThread:
    """A conversation with something of everything that the coding agents' formats may not be able to say."""
    items: list[Item] = [
        said("system", Text("Be brief.")),
        said(
            "user",
            Text("列出"),
            Media("image/png", data=b"hi"),
            author="Ann",
            pinned=True,
            at="2026-01-02T03:04:05+08:00",
        ),
        said(
            "assistant",
            Reasoning("hm"),
            Text("好"),
            ToolCall("call:1", "ls", '{"p": "."}'),
            ToolCall("c2", "cat", {"f": "文"}),
        ),
        said("tool", ToolResult("call:1", (Text("a.txt"),))),
        said("tool", ToolResult("c2", (Text("x"), Media("image/png", data=b"hi")), is_error=True)),
        replace(
            said("assistant", Text("B")),
            alternatives=(Content((Text("A"),)), Content((Text("B"),))),
            chosen=1,
        ),
        said("assistant", Text("secret"), hidden=True),
        said("user", Text("aside"), hidden=True),
        said("assistant", Opaque("gemini", "thought", "{}")),
        Aside("note", "{}"),
        ForeignCodeChange("made it", "a.py"),
    ]
    return ForeignThread("elsewhere", "talk", items, title="A talk", project="/home/ann/x")
