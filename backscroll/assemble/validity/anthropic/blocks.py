"""Blocks of the Anthropic wire: contents as blocks, calls and results as text, marked system text."""

from __future__ import annotations

from backscroll.assemble.validity.draft import (
    words_of,
)
from backscroll.formats.sources.json_text import dumps
from backscroll.formats.sources.rows import as_array, as_object, as_text
from backscroll.vocab.part import Json


def blocks_of(content: Json) -> list[Json]:
    """Return a content as blocks."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else as_array(content) or []


def of_kind(block: Json, *kinds: str) -> bool:
    """Return True for a block of one of these kinds."""
    return (as_object(block) or {}).get("type") in kinds


def in_words(block: Json) -> list[Json]:
    """Return a call or a result as text, followed by the images and documents of a result; any other block unchanged."""
    data = as_object(block) or {}
    if data.get("type") == "tool_use":
        return [{"type": "text", "text": f"[called {data['name']} {dumps(data['input'])}]"}]
    if data.get("type") != "tool_result":
        return [block]
    failed = " failed" if data.get("is_error") else ""
    text = f"[result{failed}]\n{result_words(data.get('content'))}".rstrip()
    shown = [item for item in as_array(data.get("content")) or [] if of_kind(item, "image", "document")]
    return [{"type": "text", "text": text}, *shown]


def result_words(content: Json) -> str:
    """Return the text of a result."""
    if isinstance(content, str):
        return content
    items = (as_object(item) or {} for item in as_array(content) or [])
    return "\n".join(words_of(item.get("text")) or f"[{as_text(item.get('type'))}]" for item in items)


def in_marks(text: str) -> str:
    """Mark system text as such where only the user can speak."""
    return f"<system>\n{text}\n</system>"
