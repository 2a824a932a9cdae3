"""Blocks as messages of the OpenAI Chat wire.

Owns: one block as its messages, content as plain text if possible. Thinking is left out, except for models that expect it in
a field of its own. Not here: validity; `assemble/validity` repairs what a history alone cannot promise.
"""

from __future__ import annotations

import re

from backscroll.assemble.validity.models import is_deepseek, knows_developer
from backscroll.assemble.wires.insertion import is_own, words_of_insertion
from backscroll.assemble.wires.parts import (
    PICTURES,
    arguments_text,
    media_words,
    opaque_words,
    resolve_media,
    result_text,
    split,
)
from backscroll.assemble.wires.shape import WireContext
from backscroll.formats.sources.media import to_base64, to_data_url
from backscroll.vocab.part import Json, Media, Opaque, Part, Reasoning, Text, ToolCall
from backscroll.vocab.prompt import Block

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_SOUNDS = {"audio/wav": "wav", "audio/mpeg": "mp3"}


def render_block(block: Block, how: WireContext) -> list[dict[str, Json]]:
    """Return the messages of one block."""
    results, rest = split(block.parts)
    role = "user" if block.role == "tool" else block.role
    said = _render_message(block, role, rest, how)
    told = [
        {"role": "tool", "tool_call_id": result.call_id, "content": result_text(result, how.blobs)}
        for result in results
    ]
    return [*said, *told] if role == "assistant" else [*told, *said]


def _render_message(block: Block, role: str, parts: list[Part], how: WireContext) -> list[dict[str, Json]]:
    if not parts:
        return []
    calls = [_call(part) for part in parts if isinstance(part, ToolCall)] if role == "assistant" else []
    content = _content(parts, role, how)
    out: dict[str, Json] = {"role": role, "content": content}
    if calls and not content:
        out["content"] = None
    if block.author is not None and role in ("user", "assistant") and _NAME.fullmatch(block.author):
        out["name"] = block.author
    thoughts = [part.text for part in parts if isinstance(part, Reasoning) and part.text]
    if role == "assistant" and thoughts and is_deepseek(how.model) and how.proves(block):
        out["reasoning_content"] = "\n\n".join(thoughts)
    return [{**out, "tool_calls": calls} if calls else out]


def _call(call: ToolCall) -> dict[str, Json]:
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": arguments_text(call)},
    }


def _content(parts: list[Part], role: str, how: WireContext) -> Json:
    """Return plain text if there is nothing else; a list if there are attachments."""
    items: list[dict[str, Json]] = []
    for part in parts:
        match part:
            case Text():
                items.append({"type": "text", "text": part.text})
            case Media():
                items.append(_media(part, role, how))
            case Opaque():
                items.append({"type": "text", "text": opaque_words(part)})
            case ToolCall() if role != "assistant":
                items.append({"type": "text", "text": f"[{part.name}] {arguments_text(part)}"})
            case _:
                pass  # thinking; calls have a place of their own
    items = [item for item in items if item["type"] != "text" or item["text"]]
    if all(item["type"] == "text" for item in items):
        return "\n".join(item["text"] for item in items)
    return items


def _media(part: Media, role: str, how: WireContext) -> dict[str, Json]:
    seen = resolve_media(part, how.blobs)
    if role == "user" and seen.data is not None:
        if seen.media_type in PICTURES:
            return {"type": "image_url", "image_url": {"url": to_data_url(seen.media_type, seen.data)}}
        if seen.media_type in _SOUNDS:
            sound = {"data": to_base64(seen.data), "format": _SOUNDS[seen.media_type]}
            return {"type": "input_audio", "input_audio": sound}
        if seen.media_type == "application/pdf":
            file = {"filename": part.name or "file.pdf", "file_data": to_data_url(seen.media_type, seen.data)}
            return {"type": "file", "file": file}
    if role == "user" and seen.url is not None and seen.media_type.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": seen.url}}
    return {"type": "text", "text": media_words(part, seen)}


def insert(messages: list[dict[str, Json]], block: Block, how: WireContext) -> list[dict[str, Json]] | None:
    """Return our text after the last message, as messages; None if merged into the user's message.

    Models of OpenAI have a role for our own text. Others may refuse a system message in the middle, move it to the front, or require
    the user and the model to take turns: there the text follows the user's.
    """
    words = words_of_insertion(block)
    if knows_developer(how.model):
        return [{"role": "developer" if is_own(block) else "user", "content": words}]
    last = messages[-1] if messages else {}
    if last.get("role") != "user" or "name" in last:
        return [{"role": "user", "content": words}]
    content = last["content"]
    if isinstance(content, str):
        messages[-1] = {**last, "content": f"{content}\n\n{words}" if content else words}
    else:
        messages[-1] = {**last, "content": [*content, {"type": "text", "text": words}]}
    return None
