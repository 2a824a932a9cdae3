"""All text of a message as one string, for scanning: words, calls and results, without reasoning.

Owns: the order (that of the parts) and the form (arguments unescaped: the values, not their JSON). Refuses: reasoning,
because other people never read it, and bytes.
"""

from __future__ import annotations

from collections.abc import Iterator

from backscroll.derive.digests.calls import arguments_of, scalars
from backscroll.vocab.message import Message
from backscroll.vocab.part import Media, Opaque, Part, Reasoning, Text, ToolCall, ToolResult


def flat(message: Message) -> str:
    """Return all text of a message."""
    return "\n".join(text for part in message.parts for text in _words(part) if text)


def _words(part: Part) -> Iterator[str]:
    match part:
        case Text():
            yield part.text
        case ToolCall():
            yield part.name
            given, raw = arguments_of(part.arguments)
            yield raw
            yield from scalars(dict(given))
        case ToolResult():
            for inner in part.content:
                yield from _words(inner)
        case Media():
            yield part.name or part.url or ""
        case Opaque():
            yield part.raw
        case Reasoning():
            return
