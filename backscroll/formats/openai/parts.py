"""Convert parts of OpenAI Chat messages to ours and back.

Owns: content parts (text, refusal, image_url, input_audio, file) and tool calls. A part that would not survive a round trip
exactly is kept as `Opaque`. What the wire attaches beyond our fields is in `extra["openai"]`. Whole messages:
`openai/message`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from backscroll.formats.losses import Note, quiet
from backscroll.formats.shape import Blobs
from backscroll.formats.sources.json_text import dumps, value_in
from backscroll.formats.sources.media import (
    bytes_of,
    from_base64,
    from_data_url,
    no_blobs,
    to_base64,
    to_data_url,
)
from backscroll.formats.sources.rows import as_array, as_object, as_text, of_vendor, same, under, without
from backscroll.vocab.part import Json, Media, Opaque, Text, ToolCall

VENDOR = "openai"
ContentPart: TypeAlias = Text | Media | Opaque

_AUDIO = {"audio/wav": "wav", "audio/mpeg": "mp3"}
_AUDIO_TYPES = {short: full for full, short in _AUDIO.items()}


def opaque(kind: str, value: Json, **facts: Json) -> Opaque:
    """Return a value kept unparsed."""
    return Opaque(VENDOR, kind, dumps(value), under(VENDOR, facts))


# -- content parts ---------------------------------------------------------------------------------------------


def parts_from(content: Json) -> tuple[ContentPart, ...]:
    """Return the parts of a `content`, be it a string, a list or nothing. An empty string has no parts."""
    if isinstance(content, str):
        return (Text(content),) if content else ()
    return tuple(part_from(item) for item in as_array(content) or [])


def part_from(item: Json) -> ContentPart:
    """Return one content part."""
    data = as_object(item)
    if data is None:
        return opaque(type(item).__name__, item)
    part = _parse_part(data)
    if part is not None and same(part_to(part, no_blobs, quiet), data):
        return part
    return opaque(as_text(data.get("type")), data)


def _parse_part(data: Mapping[str, Json]) -> ContentPart | None:
    match data.get("type"):
        case "text" if isinstance(data.get("text"), str):
            return Text(data["text"], under(VENDOR, without(data, "type", "text")))
        case "refusal" if isinstance(data.get("refusal"), str):
            return Text(data["refusal"], under(VENDOR, without(data, "refusal")))
        case "image_url":
            return _image(data)
        case "input_audio":
            return _audio(data)
        case "file":
            return _file(data)
        case _:
            return None


def _image(data: Mapping[str, Json]) -> Media | None:
    inner = as_object(data.get("image_url"))
    address = data.get("image_url") if inner is None else inner.get("url")
    if not isinstance(address, str):
        return None
    facts = without(data, "type", "image_url")
    facts |= {"image_url": "string"} if inner is None else {}
    facts |= {"inner": without(inner, "url")} if inner is not None and len(inner) > 1 else {}
    found = from_data_url(address)
    if found is not None:
        return Media(found[0], data=found[1], extra=under(VENDOR, facts))
    if address.startswith("data:"):
        return None
    return Media("image/*", url=address, extra=under(VENDOR, facts))


def _audio(data: Mapping[str, Json]) -> Media | None:
    inner = as_object(data.get("input_audio")) or {}
    media_type = _AUDIO_TYPES.get(as_text(inner.get("format")))
    raw = from_base64(as_text(inner.get("data")))
    if media_type is None or raw is None:
        return None
    return Media(media_type, data=raw, extra=under(VENDOR, without(data, "type", "input_audio")))


def _file(data: Mapping[str, Json]) -> Media | None:
    inner = as_object(data.get("file")) or {}
    found = from_data_url(as_text(inner.get("file_data")))
    if found is None:
        return None
    name = inner.get("filename")
    facts = without(data, "type") | {"file": without(inner, "file_data", "filename"), "type": "file"}
    return Media(
        found[0], name=name if isinstance(name, str) else None, data=found[1], extra=under(VENDOR, facts)
    )


def part_to(part: ContentPart, blobs: Blobs, note: Note) -> dict[str, Json] | None:
    """Return a content part for a user message, as received or in the wire's form; None if inexpressible."""
    facts = dict(of_vendor(part.extra, VENDOR))
    match part:
        case Text() if facts.get("type") == "refusal":
            return {"refusal": part.text, **facts}
        case Text():
            return {"type": "text", "text": part.text, **facts}
        case Media():
            return _media_to(part, facts, blobs, note)
        case Opaque() if part.vendor == VENDOR and (whole := value_in(part.raw)) is not None:
            return whole
        case Opaque():
            note(f"a part of the kind {part.kind!r} by {part.vendor} left out")
            return None


def _media_to(part: Media, facts: dict[str, Json], blobs: Blobs, note: Note) -> dict[str, Json] | None:
    data = bytes_of(part, blobs)
    if data is None and part.url is None:
        note(f"the bytes of an attachment ({part.media_type}) are not there any more")
        return {"type": "text", "text": f"[{part.media_type}]"}
    if facts.get("type") == "file" or not part.media_type.startswith(("image/", "audio/")):
        if data is None:
            note("only images can be given by their address: written as text")
            return {"type": "text", "text": part.url}
        inner = {"file_data": to_data_url(part.media_type, data), **(as_object(facts.get("file")) or {})}
        inner |= {"filename": part.name} if part.name is not None else {}
        return {**facts, "type": "file", "file": inner}
    if part.media_type in _AUDIO and data is not None:
        return {
            "type": "input_audio",
            "input_audio": {"data": to_base64(data), "format": _AUDIO[part.media_type]},
            **facts,
        }
    if not part.media_type.startswith("image/"):
        note(f"sound of the type {part.media_type} left out")
        return {"type": "text", "text": f"[{part.media_type}]"}
    address = to_data_url(part.media_type, data) if data is not None else part.url
    whole = facts.pop("image_url", None) == "string"
    inner = {"url": address, **(as_object(facts.pop("inner", None)) or {})}
    return {"type": "image_url", "image_url": address if whole else inner, **facts}


# -- tool calls ------------------------------------------------------------------------------------------------


def call_from(item: Json) -> ToolCall | Opaque:
    """Return one entry of `tool_calls`. `arguments` keeps its type: a string on the wire, an object with some servers."""
    data = as_object(item) or {}
    custom = data.get("type") == "custom"
    inner = as_object(data.get("custom" if custom else "function"))
    said = "input" if custom else "arguments"
    if inner is not None and isinstance(inner.get("name"), str) and said in inner:
        facts = without(data, "id", "type", "function", "custom")
        facts |= {"type": "custom"} if custom else {} if "type" in data else {"type": None}
        facts |= {"inner": without(inner, "name", said)} if len(inner) > 2 else {}
        facts |= {} if isinstance(inner[said], str) else {"json": True}
        facts |= {} if "id" in data else {"nameless": True}
        call = ToolCall(as_text(data.get("id")), inner["name"], inner[said], under(VENDOR, facts))
        if same(call_to(call), data):
            return call
    return opaque("tool_call", item, field="tool_calls")


def call_to(call: ToolCall) -> dict[str, Json]:
    """Return the entry of `tool_calls` for a call, as received or in the wire's form."""
    facts = dict(of_vendor(call.extra, VENDOR))
    kind = facts.pop("type", "function")  # None: some servers omit it
    key, said = ("custom", "input") if kind == "custom" else ("function", "arguments")
    inner: dict[str, Json] = {"name": call.name, said: call.arguments}
    inner |= as_object(facts.pop("inner", None)) or {}
    if not facts.pop("json", False) and not isinstance(call.arguments, str):
        inner[said] = dumps(call.arguments)
    out: dict[str, Json] = {} if facts.pop("nameless", False) else {"id": call.id}
    return out | ({} if kind is None else {"type": kind}) | {key: inner} | facts
