"""Parts as plain words, for formats that only have text: what a person would want to see of a call, a result or an image.

Owns: one readable form per kind of part. Refuses: to be read back; who needs the part again keeps it beside the words.
"""

from __future__ import annotations

from collections.abc import Iterable

from backscroll.formats.sources.json_text import dumps
from backscroll.vocab.part import Media, Opaque, Part, Reasoning, Text, ToolCall, ToolResult


def readable(parts: Iterable[Part]) -> str:
    """Return all parts in order, a line break between them."""
    return "\n".join(words for part in parts if (words := readable_part(part)))


def readable_part(part: Part) -> str:
    """Return one part as words; text as it is, everything else in square brackets or behind its name."""
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
    """Return the arguments as the wire sent them where it sent text, as JSON otherwise."""
    return call.arguments if isinstance(call.arguments, str) else dumps(call.arguments)


def label_of(part: Media) -> str:
    """Return name, kind and address of an attachment, as far as they are known and short."""
    address = part.url if part.url and not part.url.startswith("data:") else None
    return " ".join(word for word in (part.name, part.media_type, address) if word)
