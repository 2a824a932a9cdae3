"""Render parts as plain text for formats that only have text: calls, results, images.

Owns: one readable form per kind of part. It cannot be parsed back; callers that need the part keep it beside the text.
"""

from __future__ import annotations

from collections.abc import Iterable

from backscroll.formats.sources.json_text import dumps
from backscroll.vocab.part import Media, Opaque, Part, Reasoning, Text, ToolCall, ToolResult


def readable(parts: Iterable[Part]) -> str:
    """Return all parts in order, a line break between them."""
    return "\n".join(words for part in parts if (words := readable_part(part)))


def readable_part(part: Part) -> str:
    """Return one part as text: text unchanged, everything else in square brackets or after its name."""
    match part:
        case Text():
            return part.text
        case Reasoning():
            return f"[thinking] {part.text}" if part.text else ""
        case ToolCall():
            return f"[{part.name}] {arguments_text(part)}"
        case ToolResult():
            inner = readable(part.content)
            return f"[{part.name or part.call_id}{' failed' if part.is_error else ''}] → {inner}"
        case Media():
            return f"[{label_of(part)}]"
        case Opaque():
            return f"[{part.vendor}: {part.kind}]"


def arguments_text(call: ToolCall) -> str:
    """Return the arguments unchanged if the wire sent text, else as JSON."""
    return call.arguments if isinstance(call.arguments, str) else dumps(call.arguments)


def label_of(part: Media) -> str:
    """Return name, type and address of an attachment, as far as known and short."""
    address = part.url if part.url and not part.url.startswith("data:") else None
    return " ".join(word for word in (part.name, part.media_type, address) if word)
