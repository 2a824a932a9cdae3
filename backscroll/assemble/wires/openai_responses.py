"""Blocks as items of the OpenAI Responses wire.

Owns: one block as its items, in the order of its parts: reasoning directly before what it led to. Reasoning goes along only where
it is sealed and the model is the same. Not here: validity; `assemble/validity` repairs what a history alone cannot promise.
"""

from __future__ import annotations

from backscroll.assemble.wires.insertion import is_own, words_of_insertion
from backscroll.assemble.wires.parts import (
    PICTURES,
    arguments_text,
    media_words,
    opaque_words,
    resolve_media,
    result_text,
)
from backscroll.assemble.wires.shape import WireContext
from backscroll.formats.sources.media import to_data_url
from backscroll.formats.sources.rows import as_array, as_object, as_text
from backscroll.vocab.part import Json, Media, Opaque, Part, Reasoning, Text, ToolCall, ToolResult
from backscroll.vocab.prompt import Block

_VENDORS = ("openai-responses", "codex", "openai")


def render_block(block: Block, how: WireContext) -> list[dict[str, Json]]:
    """Return the items of one block."""
    role = {"tool": "user", "system": "developer"}.get(block.role, block.role)
    out: list[dict[str, Json]] = []
    said: list[dict[str, Json]] = []
    for part in block.parts:
        item = _item(part, block, role, how)
        if item is None:
            content = _content(part, role, how)
            said += [content] if content is not None else []
            continue
        out += _message(role, said)
        said = []
        out.append(item)
    return [*out, *_message(role, said)]


def _message(role: str, said: list[dict[str, Json]]) -> list[dict[str, Json]]:
    """Return a message: a list of parts, and plain text for a reply, because a list would need the service's own ids."""
    if not said:
        return []
    content: Json = "\n".join(part["text"] for part in said) if role == "assistant" else said
    return [{"type": "message", "role": role, "content": content}]


def _item(part: Part, block: Block, role: str, how: WireContext) -> dict[str, Json] | None:
    """Return a part as an item of its own; None if it belongs into a message."""
    match part:
        case ToolCall() if role == "assistant":
            call = {"type": "function_call", "call_id": part.id, "name": part.name}
            return {**call, "arguments": arguments_text(part)}
        case ToolResult():
            return {"type": "function_call_output", "call_id": part.call_id, "output": _output(part, how)}
        case Reasoning() if role == "assistant" and how.proves(block):
            return _render_sealed(part)
        case _:
            return None


def _render_sealed(part: Reasoning) -> dict[str, Json] | None:
    facts = next((as_object(part.extra[v]) for v in _VENDORS if as_object(part.extra.get(v))), None) or {}
    sealed = as_text(facts.get("encrypted_content"))
    if not sealed:
        return None
    summary = [item for item in as_array(facts.get("summary")) or [] if as_object(item) is not None]
    id = {"id": facts["id"]} if as_text(facts.get("id")) else {}
    return {"type": "reasoning", **id, "summary": summary, "encrypted_content": sealed}


def _output(result: ToolResult, how: WireContext) -> Json:
    """Return text, or a list if it contains images."""
    if not any(isinstance(part, Media) for part in result.content):
        return result_text(result, how.blobs)
    items = [_content(part, "user", how) for part in result.content]
    return [item for item in items if item is not None] or ""


def _content(part: Part, role: str, how: WireContext) -> dict[str, Json] | None:
    kind = "output_text" if role == "assistant" else "input_text"
    match part:
        case Text():
            words = part.text
        case Media():
            picture = _picture(part, role, how)
            if picture is not None:
                return picture
            words = media_words(part, resolve_media(part, how.blobs))
        case Opaque():
            words = opaque_words(part)
        case ToolCall():
            words = f"[{part.name}] {arguments_text(part)}"
        case _:
            words = ""
    return {"type": kind, "text": words} if words else None


def _picture(part: Media, role: str, how: WireContext) -> dict[str, Json] | None:
    seen = resolve_media(part, how.blobs)
    if role != "user":
        return None
    if seen.data is not None and seen.media_type in PICTURES:
        return {"type": "input_image", "image_url": to_data_url(seen.media_type, seen.data), "detail": "auto"}
    if seen.data is not None and seen.media_type == "application/pdf":
        file = to_data_url(seen.media_type, seen.data)
        return {"type": "input_file", "filename": part.name or "file.pdf", "file_data": file}
    if seen.url is not None and seen.media_type.startswith("image/"):
        return {"type": "input_image", "image_url": seen.url, "detail": "auto"}
    return None


def insert(messages: list[dict[str, Json]], block: Block, how: WireContext) -> list[dict[str, Json]] | None:  # noqa: ARG001 - all wires are called alike
    """Return our text after the last message, as an item: our own from the developer, quoted text from the user."""
    role = "developer" if is_own(block) else "user"
    return _message(role, [{"type": "input_text", "text": words_of_insertion(block)}])
