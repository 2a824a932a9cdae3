"""The parts of a message, and their JSON shape.

A part keeps whatever a vendor attached to it in `extra`, so that it can be exported unchanged. Bytes do not stay in a part:
the engine stores them once by hash and leaves the hash in `Media.blob`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

from backscroll.errors import InvalidInput

Json: TypeAlias = Any  # a JSON value; typed loosely because it is other people's data
Extra: TypeAlias = Mapping[str, Json]


def _none() -> Extra:
    return {}


@dataclass(frozen=True, slots=True)
class Text:
    """A text."""

    text: str
    extra: Extra = field(default_factory=_none)


@dataclass(frozen=True, slots=True)
class Media:
    """An image, a sound or a file: by the hash of stored bytes, or by an address."""

    media_type: str
    blob: str | None = None
    url: str | None = None
    name: str | None = None
    data: bytes | None = None  # on its way in; the engine replaces it by `blob`
    extra: Extra = field(default_factory=_none)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's tool call. `arguments` is a string if the wire sent a string, else a JSON value."""

    id: str
    name: str
    arguments: Json
    extra: Extra = field(default_factory=_none)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of the tool call with this id."""

    call_id: str
    content: tuple[Text | Media | Opaque, ...]
    is_error: bool = False
    name: str | None = None
    extra: Extra = field(default_factory=_none)


@dataclass(frozen=True, slots=True)
class Reasoning:
    """A model's thinking, with the signature that its vendor requires back unchanged."""

    text: str
    signature: str | None = None
    extra: Extra = field(default_factory=_none)


@dataclass(frozen=True, slots=True)
class Opaque:
    """An unknown vendor part; `raw` is kept verbatim."""

    vendor: str
    kind: str
    raw: str
    extra: Extra = field(default_factory=_none)


Part: TypeAlias = Text | Media | ToolCall | ToolResult | Reasoning | Opaque


def part_to_json(part: Part) -> dict[str, Json]:
    """Return the stored shape of a part: short, ordered, without empty fields."""
    out: dict[str, Json]
    match part:
        case Text():
            out = {"t": "text", "text": part.text}
        case Media():
            if part.data is not None:
                raise InvalidInput("media bytes must be stored before the part is written")
            out = {
                "t": "media",
                "type": part.media_type,
                "blob": part.blob,
                "url": part.url,
                "name": part.name,
            }
        case ToolCall():
            out = {"t": "call", "id": part.id, "name": part.name, "args": part.arguments}
        case ToolResult():
            content = [part_to_json(p) for p in part.content]
            out = {"t": "result", "call": part.call_id, "content": content, "name": part.name}
            if part.is_error:
                out["error"] = True
        case Reasoning():
            out = {"t": "reasoning", "text": part.text, "signature": part.signature}
        case Opaque():
            out = {"t": "opaque", "vendor": part.vendor, "kind": part.kind, "raw": part.raw}
    out = {k: v for k, v in out.items() if v is not None or k == "args"}
    if part.extra:
        out["extra"] = part.extra
    return out


def part_from_json(data: Mapping[str, Json]) -> Part:
    """Return the part that `part_to_json` wrote."""
    extra = cast("Extra", data.get("extra") or {})
    match data.get("t"):
        case "text":
            return Text(data["text"], extra)
        case "media":
            return Media(data["type"], data.get("blob"), data.get("url"), data.get("name"), None, extra)
        case "call":
            return ToolCall(data["id"], data["name"], data.get("args"), extra)
        case "result":
            inner = tuple(part_from_json(p) for p in data["content"])
            content = tuple(p for p in inner if isinstance(p, Text | Media | Opaque))
            return ToolResult(data["call"], content, bool(data.get("error")), data.get("name"), extra)
        case "reasoning":
            return Reasoning(data["text"], data.get("signature"), extra)
        case "opaque":
            return Opaque(data["vendor"], data["kind"], data["raw"], extra)
        case other:
            raise InvalidInput(f"unknown kind of part: {other!r}")


def text_of(parts: Sequence[Part]) -> str:
    """Return the plain text: text parts only, joined by line breaks."""
    if len(parts) == 1 and isinstance(parts[0], Text):
        return parts[0].text
    return "\n".join(p.text for p in parts if isinstance(p, Text))
