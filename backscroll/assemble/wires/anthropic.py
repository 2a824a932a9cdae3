"""Blocks as messages of the Anthropic wire, and the places of its cache marks.

Owns: one block as its message, contents always as a list, so that a growing message keeps its beginning. Thinking is sent
only with its signature and to the model that made it. Not here: validity; `assemble/validity` joins what belongs together and
repairs what a history alone cannot promise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from backscroll.assemble.validity.anthropic.blocks import in_marks, in_words
from backscroll.assemble.validity.models import takes_system_messages
from backscroll.assemble.wires.insertion import is_own, words_of_insertion
from backscroll.assemble.wires.parts import (
    PICTURES,
    arguments_object,
    arguments_text,
    media_words,
    opaque_words,
    resolve_media,
)
from backscroll.assemble.wires.shape import Breakpoint, WireContext, block_kinds
from backscroll.formats.sources.json_text import words_parsed
from backscroll.formats.sources.media import to_base64
from backscroll.formats.sources.rows import as_array, as_object, as_text
from backscroll.vocab.part import Json, Media, Opaque, Part, Reasoning, Text, ToolCall, ToolResult
from backscroll.vocab.prompt import Block
from backscroll.vocab.values.unicode import valid_text

VENDOR: Final = "anthropic"
_APART: Final = 15  # blocks between two marks; a mark looks back twenty
_MOST: Final = 4
_KEPT: Final = ("redacted_thinking",)  # vendor blocks that are sent back unchanged


def render_block(block: Block, how: WireContext) -> list[dict[str, Json]]:
    """Return the message of one block. A system block in the middle becomes marked text of the user: the same on every model, and
    stable when more is added.
    """
    if block.role == "system":
        return _message(
            "user", [{"type": "text", "text": in_marks(block.text)}] if block.text.strip() else []
        )
    role = "user" if block.role == "tool" else block.role
    blocks = [done for part in block.parts if (done := _block(part, block, role, how)) is not None]
    if role == "user":
        return _message(role, _tools_to_text(blocks, how))
    results = [b for b in blocks if b["type"] == "tool_result"]
    others = [b for b in blocks if b["type"] != "tool_result"]
    return [*_message(role, _tools_to_text(others, how)), *_message("user", _tools_to_text(results, how))]


def _tools_to_text(blocks: list[dict[str, Json]], how: WireContext) -> list[dict[str, Json]]:
    """Render calls and results as text if no tools are sent: the service refuses such blocks without them."""
    return blocks if how.tools else [told for block in blocks for told in in_words(block)]


def _message(role: str, blocks: list[dict[str, Json]]) -> list[dict[str, Json]]:
    return [{"role": role, "content": blocks}] if blocks else []


def _block(part: Part, block: Block, role: str, how: WireContext) -> dict[str, Json] | None:
    match part:
        case Text():
            return _text(part.text)
        case Reasoning():
            ours = not part.extra or VENDOR in part.extra
            if role != "assistant" or not part.signature or not ours or not how.proves(block):
                return None
            if valid_text(part.text) != part.text:
                return None  # what is bound to its bytes cannot be cleaned
            return {"type": "thinking", "thinking": part.text, "signature": part.signature}
        case ToolCall() if role == "assistant":
            return {"type": "tool_use", "id": part.id, "name": part.name, "input": arguments_object(part)}
        case ToolCall():
            return _text(f"[{part.name}] {arguments_text(part)}")
        case ToolResult():
            return _result(part, how)
        case Media():
            return _media(part, role, how)
        case Opaque():
            if part.vendor == VENDOR and part.kind in _KEPT:
                return _render_sealed(part) if role == "assistant" and how.proves(block) else None
            return _text(opaque_words(part))


def _render_sealed(part: Opaque) -> dict[str, Json] | None:
    """Render thinking that only the service can read; nothing if the seal is missing."""
    data = as_object(words_parsed(part.raw)) or {}
    whole = data.get("type") == part.kind and as_text(data.get("data"))
    return dict(data) if whole else None


def _text(words: str) -> dict[str, Json] | None:
    return {"type": "text", "text": words} if words.strip() else None


def _result(result: ToolResult, how: WireContext) -> dict[str, Json]:
    items: list[dict[str, Json]] = []
    for part in result.content:
        done = _media(part, "user", how) if isinstance(part, Media) else _text(_words(part))
        items += [done] if done is not None else []
    plain = len(items) == 1 and items[0]["type"] == "text"
    content: Json = items[0]["text"] if plain else items or ""
    failed = {"is_error": True} if result.is_error else {}
    return {"type": "tool_result", "tool_use_id": result.call_id, "content": content, **failed}


def _words(part: Text | Opaque) -> str:
    return part.text if isinstance(part, Text) else part.raw


def _media(part: Media, role: str, how: WireContext) -> dict[str, Json] | None:
    seen = resolve_media(part, how.blobs)
    if role == "user" and seen.data is not None and seen.media_type in (*PICTURES, "application/pdf"):
        kind = "document" if seen.media_type == "application/pdf" else "image"
        source = {"type": "base64", "media_type": seen.media_type, "data": to_base64(seen.data)}
        return {"type": kind, "source": source}
    if role == "user" and seen.url is not None and seen.media_type.startswith("image/"):
        return {"type": "image", "source": {"type": "url", "url": seen.url}}
    return _text(media_words(part, seen))


def insert(messages: list[dict[str, Json]], block: Block, how: WireContext) -> list[dict[str, Json]] | None:
    """Return our text after the last message: a text block at the end of the user's message, else a message; None if one took it
    in.

    If system messages are requested and the model accepts them, our own text is one after the user's message.
    """
    text = {"type": "text", "text": words_of_insertion(block)}
    last = messages[-1]["role"] if messages else ""
    system = how.insertions == "system" and is_own(block) and takes_system_messages(how.model)
    wanted = "system" if system and last in ("user", "system") else "user"
    if last != wanted:
        return _message(wanted, [text])
    messages[-1] = {**messages[-1], "content": [*messages[-1]["content"], text]}
    return None


def breakpoints(
    messages: Sequence[dict[str, Json]], system: Json, tools: Sequence[Json] | None, ends: Sequence[int]
) -> tuple[Breakpoint, ...]:
    """Return the places of marks: after system (or tools), after the newest message, fifteen blocks before it, at ends of sections.

    `messages` are those that recur, `ends` the indexes of messages that close a stable section.
    """
    points: list[Breakpoint] = []
    blocks = as_array(system)
    if blocks:
        points.append(Breakpoint("system", 0, len(blocks) - 1))
    elif tools:
        points.append(Breakpoint("tools", 0, len(tools) - 1))
    flat = [
        (n, m)
        for n, message in enumerate(messages)
        for m, kind in enumerate(block_kinds(message))
        if "thinking" not in kind
    ]
    if not flat:
        return tuple(points)
    last_of = {n: (n, m) for n, m in flat}
    closing = [last_of[n] for n in reversed(ends) if n in last_of]
    back = flat[-1 - _APART :: -_APART]
    wanted = [
        flat[-1],
        *back[:1],
        *closing,
        *back[1:],
    ]  # one step may add more blocks than a single mark looks back
    chosen = list(dict.fromkeys(wanted))[: _MOST - len(points)]
    return (*points, *(Breakpoint("messages", n, m) for n, m in sorted(chosen)))
