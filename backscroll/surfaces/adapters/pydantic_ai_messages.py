"""Convert messages of Pydantic AI to ours and back, without loss.

Owns both directions. A part of a request is one message, a response is one message; text becomes our parts, the rest of their parts
is kept in `extra` or metadata under `pydantic-ai`, and the rest of a request or response in `head` of its first message. A message
from elsewhere is written as Pydantic AI would write it. Refuses: keeping them (`pydantic_ai`). Needs the extra `pydantic-ai`.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

from backscroll.errors import MissingExtra
from backscroll.vocab.foreign import ForeignMessage
from backscroll.vocab.message import Content, Role
from backscroll.vocab.part import Extra, Json, Media, Opaque, Part, Reasoning, Text, ToolCall, ToolResult

try:
    from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter
except ImportError as error:
    raise MissingExtra(
        "these messages are for the package pydantic-ai-slim", hint="pip install 'backscroll[pydantic-ai]'"
    ) from error

VENDOR = "pydantic-ai"
Blobs = Callable[[str], bytes | None]
Dumped = dict[str, Any]
_ROLES: Mapping[str, Role] = {
    "system-prompt": "system",
    "user-prompt": "user",
    "retry-feedback": "user",
    "tool-return": "tool",
    "retry-prompt": "tool",
}
_KINDS: Mapping[Role, str] = {"system": "system-prompt", "user": "user-prompt", "tool": "tool-return"}


def is_text_kind(kind: str) -> bool:
    """Return True for parts of a request that contain text for the model."""
    return kind in _ROLES


# -- from Pydantic AI --------------------------------------------------------------------------------------------


def parse_messages(messages: Sequence[ModelMessage]) -> list[ForeignMessage]:
    """Convert their messages, in order."""
    dumped: list[Dumped] = ModelMessagesTypeAdapter.dump_python(list(messages), mode="json")
    return [m for data in dumped for m in _parse_message(data)]


def _parse_message(data: Dumped) -> Iterator[ForeignMessage]:
    parts: list[Dumped] = data.pop("parts")
    head = _slim(data)
    if data["kind"] == "response":
        about: dict[str, Json] = {VENDOR: {"head": head}}
        if head.get("model_name"):
            about["model"] = head["model_name"]
        yield ForeignMessage("assistant", Content(tuple(_parse_response_part(p) for p in parts), None, about))
        return
    for part in parts or [{"part_kind": "nothing"}]:
        role, ours, left = _parse_request_part(part)
        facts: dict[str, Json] = {"part": left} if left else {}
        if head:
            facts["head"], head = head, {}
        if data.get("run_id") or part.get("timestamp"):
            facts["id"] = f"{data.get('run_id') or ''}/{part.get('timestamp') or ''}"
        yield ForeignMessage(role, Content(ours, None, {VENDOR: facts} if facts else {}))


def _parse_request_part(part: Dumped) -> tuple[Role, tuple[Part, ...], Dumped]:
    """Convert a part of a request: its role, its parts, and the rest of it."""
    kind = str(part.get("part_kind"))
    role = _ROLES.get(kind, "system")
    if kind not in _ROLES or (kind == "retry-prompt" and not part.get("tool_name")):
        return "system", (Opaque(VENDOR, kind, _text(part)),), {}
    items = _items(part.pop("content"), typed=role != "user")
    if role == "tool":
        failed = kind == "retry-prompt" or part.get("outcome") in ("failed", "retried", "denied")
        call, name = str(part.pop("tool_call_id", "")), str(part.pop("tool_name"))
        return role, (ToolResult(call, items, failed, name),), _slim(part)
    return role, items, _slim(part)


def _items(content: Any, *, typed: bool) -> tuple[Text | Media | Opaque, ...]:
    """Return the contents of a message: text, attachments, or any value of a tool."""
    if isinstance(content, str):
        return (Text(content),)
    if isinstance(content, list) and (not typed or any(_is_file(i) for i in cast("list[Any]", content))):
        return tuple(_item(i) for i in cast("list[Any]", content)) or (Text("[]", _extra({"json": True})),)
    return (Text(_text(content), _extra({"json": True})),)


def _is_file(item: Any) -> bool:
    return isinstance(item, dict) and (cast("Dumped", item).get("kind") == "binary" or "url" in item)


def _item(item: Any) -> Text | Media | Opaque:
    if isinstance(item, str):
        return Text(item, _extra({"listed": True}))
    data = dict(cast("Dumped", item)) if isinstance(item, dict) else {}
    if data.get("kind") == "binary" and isinstance(data.get("data"), str):
        raw = _decode_base64(data["data"])
        if raw is not None:
            del data["data"]
            return Media(str(data.get("media_type")), data=raw, extra=_extra({"item": _slim(data)}))
    if isinstance(data.get("url"), str):
        return Media(
            str(data.get("media_type") or "image/*"), url=data["url"], extra=_extra({"item": _slim(data)})
        )
    return Opaque(VENDOR, str(data.get("kind") or "value"), _text(item))


def _decode_base64(words: str) -> bytes | None:
    try:
        raw = base64.urlsafe_b64decode(words)
    except (binascii.Error, ValueError):
        return None
    return raw if base64.urlsafe_b64encode(raw).decode() == words else None


def _parse_response_part(part: Dumped) -> Part:
    """Convert a part of a response."""
    kind = str(part.pop("part_kind"))
    left = _slim(part)
    if kind == "text":
        return Text(left.pop("content", ""), _extra({"part": left}))
    if kind == "thinking":
        text, signature = left.pop("content", ""), left.pop("signature", None)
        # A signature that goes back to its vendor, on that vendor's wire.
        whose: Extra = {"anthropic": {}} if signature and left.get("provider_name") == "anthropic" else {}
        return Reasoning(text, signature, {**_extra({"part": left}), **whose})
    if kind == "tool-call":
        args = left.pop("args", None)
        return ToolCall(left.pop("tool_call_id", ""), left.pop("tool_name", ""), args, _extra({"part": left}))
    return Opaque(VENDOR, kind, _text({**left, "part_kind": kind}))


# -- to Pydantic AI ----------------------------------------------------------------------------------------------


def render_messages(messages: Sequence[ForeignMessage], blobs: Blobs) -> list[ModelMessage]:
    """Convert our messages to theirs: consecutive model messages are one response, everything between them one request."""
    out: list[Dumped] = []
    names: dict[str, str] = {}
    for message in messages:
        content = message.content
        kind = "response" if message.role == "assistant" else "request"
        parts = (
            _render_response_parts(content) if kind == "response" else list(_asking(message, names, blobs))
        )
        head = cast("Dumped | None", _facts(content.metadata).get("head"))
        if head is None and not parts:
            continue
        if head is not None or not out or out[-1]["kind"] != kind:
            out.append({**_build_head(content, kind), **(head or {}), "kind": kind, "parts": []})
        out[-1]["parts"] += parts
        names |= {p.id: p.name for p in content.parts if isinstance(p, ToolCall)}
    return ModelMessagesTypeAdapter.validate_python(out)


def _build_head(content: Content, kind: str) -> Dumped:
    """Return what is known of a response from elsewhere."""
    named = {"model_name": content.metadata.get("model"), "provider_name": content.metadata.get("provider")}
    return {k: v for k, v in named.items() if isinstance(v, str)} if kind == "response" else {}


def _render_response_parts(content: Content) -> list[Dumped]:
    return [p for part in content.parts if (p := _saying(part, content)) is not None]


def _saying(part: Part, content: Content) -> Dumped | None:
    left = cast("Dumped", _facts(part.extra).get("part") or {})
    match part:
        case Text() if part.text or left or VENDOR in content.metadata:
            return {**left, "part_kind": "text", "content": part.text}
        case Reasoning():
            proof = {"signature": part.signature} if part.signature else {}
            if proof and "provider_name" not in left:
                whose = "anthropic" if "anthropic" in part.extra else content.metadata.get("provider")
                left = {**left, "provider_name": whose or "unknown"}
            return {**left, **proof, "part_kind": "thinking", "content": part.text}
        case ToolCall():
            call: Dumped = {"tool_name": part.name, "tool_call_id": part.id, "args": part.arguments}
            return {**left, **call, "part_kind": "tool-call"}
        case Opaque() if part.vendor == VENDOR:
            return _read(part.raw)
        case _:
            return None


def _asking(message: ForeignMessage, names: Mapping[str, str], blobs: Blobs) -> Iterator[Dumped]:
    """Yield the parts of a request that a message makes; tool results first."""
    left = cast("Dumped", _facts(message.content.metadata).get("part") or {})
    rest: list[Part] = []
    for part in message.content.parts:
        if isinstance(part, ToolResult):
            name = part.name or names.get(part.call_id) or "tool"
            failed = {"outcome": "failed"} if part.is_error else {}
            yield {
                "part_kind": "tool-return",
                **failed,
                **left,
                "tool_name": name,
                "tool_call_id": part.call_id,
                "content": _content(part.content, blobs),
            }
        elif isinstance(part, Opaque) and part.vendor == VENDOR and message.role == "system":
            if part.kind != "nothing" and (whole := _read(part.raw)) is not None:
                yield whole
        else:
            rest.append(part)
    if rest:
        kind = _KINDS["user" if message.role == "tool" else message.role]
        said = _content(rest, blobs)
        if kind == "system-prompt" and not isinstance(said, str):
            said = message.content.text
        yield {"part_kind": kind, **left, "content": said}


def _content(parts: Sequence[Part], blobs: Blobs) -> Any:
    """Return text, or a list of text and attachments, or the value that a tool returned."""
    first = parts[0] if parts else Text("")
    if len(parts) == 1 and isinstance(first, Text):
        facts = _facts(first.extra)
        if facts.get("json"):
            return _read(first.text)
        return [first.text] if facts.get("listed") else first.text
    if all(isinstance(p, Text) and not _facts(p.extra) for p in parts):
        return "\n".join(p.text for p in parts if isinstance(p, Text))
    return [i for p in parts if (i := _render_item(p, blobs)) is not None]


def _read(text: str) -> Any:
    """Parse the value in a text; None if it is not valid JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _render_item(part: Part, blobs: Blobs) -> Any:
    match part:
        case Text():
            return part.text
        case Media():
            return _render_media(part, cast("Dumped", _facts(part.extra).get("item") or {}), blobs)
        case Opaque() if part.vendor == VENDOR:
            return _read(part.raw)
        case _:
            return None


def _render_media(part: Media, left: Dumped, blobs: Blobs) -> Any:
    data = part.data if part.data is not None else blobs(part.blob) if part.blob else None
    if data is not None:
        words = base64.urlsafe_b64encode(data).decode()
        return {"media_type": part.media_type, **left, "kind": "binary", "data": words}
    if part.url:
        return {"kind": "image-url", **left, "url": part.url}
    return f"[{part.media_type}]"


# -- JSON --------------------------------------------------------------------------------------------------------


def _facts(extra: Mapping[str, Json]) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", extra.get(VENDOR) or {})


def _extra(facts: Dumped) -> Extra:
    """Return the rest of a part; empty if there is none, so that equal texts stay equal."""
    kept = {k: v for k, v in facts.items() if v}
    return {VENDOR: kept} if kept else {}


def _slim(data: Mapping[str, Any]) -> Dumped:
    return {k: v for k, v in data.items() if v is not None}


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
