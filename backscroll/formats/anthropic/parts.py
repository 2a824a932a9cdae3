"""Convert blocks of Anthropic messages to our parts and back.

Owns: text, thinking, tool_use, tool_result, image and document blocks. What a block carries beyond our fields
(`cache_control`, `citations`, ...) is in `extra["anthropic"]`; a block that would not survive a round trip exactly is kept as
`Opaque`. Claude Code's transcripts contain the same blocks. Whole messages: `anthropic/message`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from backscroll.formats.losses import Note, quiet
from backscroll.formats.shape import Blobs
from backscroll.formats.sources.json_text import dumps, try_parse, value_in
from backscroll.formats.sources.media import bytes_of, from_base64, no_blobs, to_base64
from backscroll.formats.sources.rows import (
    as_array,
    as_object,
    as_text,
    mint_id,
    of_vendor,
    same,
    under,
    without,
)
from backscroll.vocab.part import Json, Media, Opaque, Part, Reasoning, Text, ToolCall, ToolResult

VENDOR = "anthropic"
_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def opaque(kind: str, value: Json) -> Opaque:
    """Return a value kept unparsed."""
    return Opaque(VENDOR, kind, dumps(value))


# -- from the wire ---------------------------------------------------------------------------------------------


def describe_content_shape(content: Json, present: bool = True) -> str:
    """Return the shape a content had on the wire, for writing it back."""
    if content is None:
        return "null" if present else "absent"
    return "string" if isinstance(content, str) else "list"


def parts_from(content: Json) -> tuple[Part, ...]:
    """Return the parts of a content, be it a string, a list or nothing. An empty string has no parts."""
    if isinstance(content, str):
        return (Text(content),) if content else ()
    return tuple(part_from(block) for block in as_array(content) or [])


def part_from(block: Json) -> Part:
    """Return one block."""
    data = as_object(block)
    if data is None:
        return opaque(type(block).__name__, block)
    part = _parse_part(data)
    if part is not None and same(_AS_IT_WAS.block(part), data):
        return part
    return opaque(as_text(data.get("type")), data)


def _parse_part(data: Mapping[str, Json]) -> Part | None:
    match data.get("type"):
        case "text" if isinstance(data.get("text"), str):
            return Text(data["text"], under(VENDOR, without(data, "type", "text")))
        case "thinking" if isinstance(data.get("thinking"), str):
            signature = data.get("signature")
            signed = isinstance(signature, str)
            facts = without(data, "type", "thinking", *(["signature"] if signed else []))
            return Reasoning(data["thinking"], signature if signed else None, under(VENDOR, facts))
        case "tool_use" if isinstance(data.get("id"), str) and isinstance(data.get("name"), str):
            facts = without(data, "type", "id", "name", "input")
            return ToolCall(data["id"], data["name"], data.get("input"), under(VENDOR, facts))
        case "tool_result" if isinstance(data.get("tool_use_id"), str):
            return _result(data)
        case "image" | "document":
            return _media(data)
        case _:
            return None


def _result(data: Mapping[str, Json]) -> ToolResult:
    facts = without(data, "type", "tool_use_id", "content")
    failed = facts.get("is_error") is True
    if failed:
        del facts["is_error"]
    content = data.get("content")
    inner = tuple(p for p in parts_from(content) if isinstance(p, Text | Media | Opaque))
    plain = ToolResult(data["tool_use_id"], inner, failed, extra=under(VENDOR, facts))
    if same(_AS_IT_WAS.block(plain), data):
        return plain
    facts["content"] = describe_content_shape(content, "content" in data)
    return ToolResult(data["tool_use_id"], inner, failed, extra=under(VENDOR, facts))


def _media(data: Mapping[str, Json]) -> Media | None:
    source = as_object(data.get("source")) or {}
    image = data["type"] == "image"
    facts = without(data, "source") if not image else without(data, "source", "type")
    title = data.get("title")
    name = title if isinstance(title, str) else None
    if source.get("type") == "base64" and isinstance(source.get("media_type"), str):
        raw = from_base64(as_text(source.get("data")))
        return (
            Media(source["media_type"], name=name, data=raw, extra=under(VENDOR, facts))
            if raw is not None
            else None
        )
    if source.get("type") == "url" and isinstance(source.get("url"), str):
        media_type = "image/*" if image else "application/pdf"
        return Media(media_type, url=source["url"], name=name, extra=under(VENDOR, facts))
    return None


# -- to the wire -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BlockWriter:
    """Writes parts as blocks. `foreign` parts come from other formats and are adapted to what the wire allows."""

    blobs: Blobs
    note: Note
    foreign: bool

    def content(self, parts: Sequence[Part], how: str) -> Json:
        """Return a content in its earlier form, as far as its parts allow that."""
        if not parts and how in ("null", "absent"):
            return None
        if how != "list" and len(parts) <= 1:
            only = parts[0] if parts else Text("")
            if isinstance(only, Text) and not of_vendor(only.extra, VENDOR):
                return only.text
        return self.blocks(parts)

    def blocks(self, parts: Sequence[Part]) -> list[Json]:
        """Return the blocks of these parts; inexpressible ones are left out and noted."""
        out: list[Json] = []
        for part in parts:
            kept = isinstance(part, Opaque) and part.vendor == VENDOR  # may be `null` itself
            block = self.block(part)
            if block is not None or kept:
                out.append(block)
        return out

    def block(self, part: Part) -> Json:
        """Return one block; None if the wire cannot express it."""
        facts = dict(of_vendor(part.extra, VENDOR))
        match part:
            case Text():
                return (
                    None if self.foreign and not part.text else {"type": "text", "text": part.text, **facts}
                )
            case Reasoning():
                return self._thinking(part, facts)
            case ToolCall():
                name = {"id": self.id(part.id), "name": part.name}
                return {"type": "tool_use", **name, "input": self._arguments(part), **facts}
            case ToolResult():
                return self._result(part, facts)
            case Media():
                return self._media(part, facts)
            case Opaque() if part.vendor == VENDOR and (whole := value_in(part.raw)) is not None:
                return whole
            case Opaque():
                self.note(f"a part of the kind {part.kind!r} by {part.vendor} left out")
                return None

    def id(self, given: str) -> str:
        """Return the id of a call as the wire allows it; call and result get the same one."""
        if not self.foreign or _ID.fullmatch(given):
            return given
        return f"toolu_{mint_id(given)[:24]}"

    def _thinking(self, part: Reasoning, facts: Mapping[str, Json]) -> Json:
        if self.foreign and part.signature is None:
            self.note("a reasoning without the signature of this vendor left out")
            return None
        signature = {} if part.signature is None else {"signature": part.signature}
        return {"type": "thinking", "thinking": part.text, **signature, **facts}

    def _arguments(self, part: ToolCall) -> Json:
        if not self.foreign or as_object(part.arguments) is not None:
            return part.arguments
        value = as_object(try_parse(part.arguments)) if isinstance(part.arguments, str) else None
        if value is not None:
            return value
        if part.arguments not in ("", None):
            self.note(f"the arguments of a call to {part.name} are not a JSON object: written as `arguments`")
            return {"arguments": part.arguments}
        return {}

    def _result(self, part: ToolResult, facts: dict[str, Json]) -> Json:
        how = as_text(facts.pop("content", "string"))
        out: dict[str, Json] = {"type": "tool_result", "tool_use_id": self.id(part.call_id)}
        content = self.content(part.content, how)
        if part.content or how != "absent":
            out["content"] = content
        if part.is_error:
            out["is_error"] = True
        return out | facts

    def _media(self, part: Media, facts: dict[str, Json]) -> Json:
        data = bytes_of(part, self.blobs)
        if data is None and part.url is None:
            self.note(f"the bytes of an attachment ({part.media_type}) are not there any more")
            return {"type": "text", "text": f"[{part.media_type}]"}
        kind = facts.pop("type", "image" if part.media_type.startswith("image/") else "document")
        if kind == "document" and self.foreign and part.media_type != "application/pdf":
            self.note(f"an attachment of the type {part.media_type} left out")
            return {"type": "text", "text": f"[{part.name or part.media_type}]"}
        if data is None:
            source: dict[str, Json] = {"type": "url", "url": part.url}
        else:
            source = {"type": "base64", "media_type": part.media_type, "data": to_base64(data)}
        title = {"title": part.name} if self.foreign and kind == "document" and part.name else {}
        return {"type": kind, "source": source, **title, **facts}


_AS_IT_WAS = BlockWriter(no_blobs, quiet, foreign=False)
