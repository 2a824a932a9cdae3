"""Parse content parts given as dictionaries in the shapes of the OpenAI Chat and Anthropic wires.

Selects the wire by the `type` of a block: each type belongs to one vendor, and a plain text block means the same in both. A
type that neither wire has, or a block whose fields do not fit its type, is an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from backscroll.errors import FormatError
from backscroll.formats.anthropic import parts as anthropic_parts
from backscroll.formats.openai import parts as openai_parts
from backscroll.formats.sources.rows import as_array, as_object
from backscroll.vocab.part import Json, Opaque, Part

OPENAI: Final = ("text", "image_url", "input_audio", "file", "refusal")
ANTHROPIC: Final = ("image", "document", "thinking", "tool_use", "tool_result")
#: Fields of a text block that only Anthropic has.
_ANTHROPIC_TEXT: Final = frozenset({"cache_control", "citations"})


def part_of(block: Mapping[str, Json]) -> Part:
    """Return the part that a block represents. Raises FormatError for an unknown or invalid block."""
    kind = block.get("type")
    known = ", ".join((*OPENAI, "function", *ANTHROPIC))
    if kind is None and "role" in block:
        raise FormatError(
            "this is a whole message, not the content of one", hint="thread.extend([...]) takes messages"
        )
    if kind in ANTHROPIC or (kind == "text" and _ANTHROPIC_TEXT & block.keys()):
        part = anthropic_parts.part_from(dict(block))
    elif kind in OPENAI:
        part = openai_parts.part_from(dict(block))
    elif kind == "function":
        part = openai_parts.call_from(dict(block))
    else:
        raise FormatError(f"unknown type of content part: {kind!r}", hint=f"known types: {known}")
    if isinstance(part, Opaque):  # the wires keep unknown blocks; here an unknown block is a typo
        raise FormatError(
            f"not a content part of type {kind}: fields {', '.join(map(str, block)) or 'none'}",
            hint='write it as the wire does, such as {"type": "text", "text": "…"}',
        )
    return part


def is_anthropic(content: Json) -> bool:
    """Return True for content with blocks that only Anthropic's wire has, and none that only OpenAI's has."""
    kinds = [block.get("type") for block in map(as_object, as_array(content) or []) if block is not None]
    theirs = any(kind in ANTHROPIC for kind in kinds)
    return theirs and not any(kind in OPENAI and kind != "text" for kind in kinds)
