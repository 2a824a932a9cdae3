"""Convert messages of LangChain to ours and back, without loss.

Owns both directions. Text becomes parts; the rest of a content block is kept in `extra["langchain"]` of its part, the rest of
a message (ids, metadata, usage) in `metadata["langchain"]`. A message from elsewhere, or one that was edited here, is written as LangChain
would write it. Refuses: keeping them (`langchain`). Needs the extra `langchain`.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from backscroll.errors import InvalidInput, MissingExtra
from backscroll.vocab.foreign import ForeignMessage
from backscroll.vocab.message import Content, Role
from backscroll.vocab.part import Extra, Json, Media, Opaque, Part, Reasoning, Text, ToolCall, ToolResult

try:
    from langchain_core.messages import (
        AIMessage,
        BaseMessage,
        BaseMessageChunk,
        HumanMessage,
        SystemMessage,
        ToolMessage,
        message_chunk_to_message,
        message_to_dict,
        messages_from_dict,
    )
except ImportError as error:
    raise MissingExtra(
        "these messages are for the package langchain", hint="pip install 'backscroll[langchain]'"
    ) from error

VENDOR = "langchain"
Blobs = Callable[[str], bytes | None]
_ROLES: Mapping[str, Role] = {
    "human": "user",
    "ai": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
    "user": "user",
    "assistant": "assistant",
}
_SPOKEN = {"content", "tool_calls"}  # fields that hold text
_CALLS = ("tool_use", "tool_call", "function_call")
#: Where a block may hold the bytes of an attachment, and where its type.
_BYTES = (("base64",), ("data",), ("source", "data"))
_KINDS = (("mime_type",), ("source", "media_type"), ("media_type",))


# -- from LangChain ----------------------------------------------------------------------------------------------


def parse_message(message: BaseMessage) -> ForeignMessage:
    """Convert one message of theirs."""
    whole = message_chunk_to_message(message) if isinstance(message, BaseMessageChunk) else message
    kind = str(getattr(whole, "role", "")) if whole.type == "chat" else whole.type
    role: Role | None = _ROLES.get(kind) or ("user" if whole.type == "chat" else None)
    if role is None:
        raise InvalidInput(
            f"a message of the kind {whole.type!r} says nothing",
            hint="add human, ai, system and tool messages",
        )
    parts = _parts(whole.content, _calls(whole))
    if role == "tool":
        result = tuple(p for p in parts if isinstance(p, Text | Media | Opaque))
        call, failed = str(getattr(whole, "tool_call_id", "")), getattr(whole, "status", "") == "error"
        parts = [ToolResult(call, result, failed, whole.name)]
    author = whole.name if role == "user" and whole.name else None
    plain = Content(tuple(parts), author)
    facts: dict[str, Json] = {"id": whole.id} if whole.id else {}
    facts |= _left_over(whole, role, plain)
    about: dict[str, Json] = {VENDOR: facts} if facts else {}
    told_by = whole.response_metadata.get("model_name") or whole.response_metadata.get("model")
    if role == "assistant" and isinstance(told_by, str):
        about["model"] = told_by  # the author of this reasoning: its signature is useless to another model
    return ForeignMessage(role, Content(plain.parts, author, about))


def _calls(message: BaseMessage) -> list[Mapping[str, Any]]:
    return [cast("Mapping[str, Any]", c) for c in getattr(message, "tool_calls", ())]


def _parts(content: Any, calls: list[Mapping[str, Any]]) -> list[Part]:
    """Return the parts of a content and the calls beside it; a call that is also in the content is one part."""
    out: list[Part] = []
    if isinstance(content, str):
        out += [Text(content)] if content else []
    else:
        out += [_part(block, calls) for block in cast("Sequence[Any]", content)]
    return out + [_parse_call(call) for call in calls]


def _parse_call(call: Mapping[str, Any], extra: Extra | None = None) -> ToolCall:
    return ToolCall(
        str(call.get("id") or ""), str(call["name"]), _dump_arguments(call.get("args")), extra or {}
    )


def _part(block: Any, calls: list[Mapping[str, Any]]) -> Part:
    if isinstance(block, str):
        return Text(block, {VENDOR: {"bare": True}})
    data: dict[str, Any] = dict(block)
    kind = str(data.get("type") or "")
    if kind == "text" and isinstance(data.get("text"), str):
        return Text(data.pop("text"), _keep_block(data))
    for name in ("thinking", "reasoning"):
        if kind == name and isinstance(data.get(name), str):
            text, signature = data.pop(name), data.get("signature")
            signed = signature if isinstance(signature, str) else None
            # Blocks of this name with a signature are Anthropic's: they may be sent back unchanged.
            whose: Extra = {"anthropic": {}} if signed and name == "thinking" else {}
            return Reasoning(text, signed, {**_keep_block(data), **whose})
    if kind in _CALLS:
        name = data.get("call_id") or data.get("id")
        same = next((c for c in calls if c.get("id") == name), None)
        if same is not None:
            calls.remove(same)
            return _parse_call(same, _keep_block(data))
    return _parse_attachment(data) or Opaque(VENDOR, kind, _text(data))


def _parse_attachment(data: dict[str, Any]) -> Media | None:
    """Parse an image, a sound or a file: its bytes are taken out, and put back at the same place."""
    address = data.get("image_url")
    inner = cast("dict[str, Any]", address) if isinstance(address, dict) else {"url": address}
    url = str(inner.get("url") or "") if address else str(data.get("url") or "")
    if url.startswith("data:"):
        head, _, words = url.removeprefix("data:").partition(",")
        raw = _decode_base64(words) if head.endswith(";base64") else None
        if raw is None or not address:
            return None
        left = {**data, "image_url": {k: v for k, v in inner.items() if k != "url"}}
        where = ["image_url", "url"] if isinstance(address, dict) else ["image_url"]
        return Media(head.removesuffix(";base64"), data=raw, extra=_keep_block(left, at=where))
    if url:
        return Media(str(data.get("mime_type") or "image/*"), url=url, extra=_keep_block(data))
    media_type = next((str(v) for p in _KINDS if (v := _at(data, p))), "")
    for path in _BYTES:
        words = _at(data, path)
        raw = _decode_base64(words) if isinstance(words, str) and media_type else None
        if raw is not None:
            return Media(media_type, data=raw, extra=_keep_block(_put(data, path, None), at=list(path)))
    return None


def _keep_block(block: Mapping[str, Any], at: list[str] | None = None) -> Extra:
    facts = {"block": _plain(dict(block))}
    return {VENDOR: facts | ({"at": at} if at else {})}


def _decode_base64(words: str) -> bytes | None:
    """Return the bytes, if encoding them again gives the same text."""
    try:
        raw = base64.b64decode(words, validate=True)
    except (binascii.Error, ValueError):
        return None
    return raw if base64.b64encode(raw).decode() == words else None


def _left_over(message: BaseMessage, role: Role, plain: Content) -> dict[str, Json]:
    """Return the fields of a message that our own parts do not express."""
    told = message_to_dict(message)
    bare = message_to_dict(_bare(role, plain, lambda _: None))
    fields = {k: _plain(v) for k, v in told["data"].items() if k != "id" and bare["data"].get(k) != v}
    out: dict[str, Json] = {"fields": fields} if fields else {}
    if told["type"] != bare["type"]:
        out |= {"type": told["type"], "without": [k for k in bare["data"] if k not in told["data"]]}
    return out | ({"words": _sign(plain)} if _SPOKEN & fields.keys() else {})


def _sign(content: Content) -> str:
    """Return a fingerprint that shows whether text has changed since."""
    return hashlib.sha256(f"{len(content.parts)} {content.text}".encode("utf-8", "replace")).hexdigest()[:16]


# -- to LangChain ------------------------------------------------------------------------------------------------


def render_messages(message: ForeignMessage, blobs: Blobs) -> list[BaseMessage]:
    """Convert one of our messages to theirs; tool results become one message each, everything else follows."""
    role, content = message.role, message.content
    results = [p for p in content.parts if isinstance(p, ToolResult)]
    rest = tuple(p for p in content.parts if not isinstance(p, ToolResult))
    if results and (rest or len(results) > 1):
        out: list[BaseMessage] = [_bare("tool", Content((r,)), blobs) for r in results]
        who: Role = "user" if role == "tool" else role
        return out + ([_bare(who, Content(rest, content.author), blobs)] if rest else [])
    bare = _bare(role, content, blobs)
    facts = cast("Mapping[str, Any]", content.metadata.get(VENDOR) or {})
    if not facts:
        return [bare]
    data = message_to_dict(bare)
    fields = dict(cast("Mapping[str, Any]", facts.get("fields") or {}))
    if facts.get("words") != _sign(content):  # edited here: the original no longer counts
        fields = {k: v for k, v in fields.items() if k not in _SPOKEN}
    data["data"] |= {"id": facts.get("id")} | fields
    data["type"] = facts.get("type") or data["type"]
    for name in facts.get("without") or ():
        data["data"].pop(name, None)
    return messages_from_dict([data])


def _bare(role: Role, content: Content, blobs: Blobs) -> BaseMessage:
    """Return a message built from its parts alone."""
    calls = [p for p in content.parts if isinstance(p, ToolCall)]
    if role == "tool":
        result = next((p for p in content.parts if isinstance(p, ToolResult)), ToolResult("", ()))
        status: Any = "error" if result.is_error else "success"
        return ToolMessage(
            content=_content(result.content, blobs),
            tool_call_id=result.call_id,
            name=result.name,
            status=status,
        )
    said = _content(content.parts, blobs)
    if role == "assistant":
        made: list[Any] = [
            {"type": "tool_call", "id": c.id, "name": c.name, "args": _object(c.arguments)} for c in calls
        ]
        return AIMessage(content=said, tool_calls=made)
    return SystemMessage(content=said) if role == "system" else HumanMessage(said, name=content.author)


def _content(parts: Sequence[Part], blobs: Blobs) -> Any:
    kept = any(VENDOR in p.extra or isinstance(p, Media | Opaque) for p in parts)
    proven = any(isinstance(p, Reasoning) and p.signature for p in parts)
    if not kept and not proven:
        return "\n".join(p.text for p in parts if isinstance(p, Text))
    return [b for p in parts if (b := _block(p, blobs)) is not None]


def _block(part: Part, blobs: Blobs) -> Any:
    facts = cast("Mapping[str, Any]", part.extra.get(VENDOR) or {})
    block: dict[str, Any] = dict(facts.get("block") or {})
    match part:
        case Text() if facts.get("bare"):
            return part.text
        case Text():
            return {**(block or {"type": "text"}), "text": part.text}
        case Reasoning() if block:
            return {**block, str(block.get("type")): part.text}
        case Reasoning() if part.signature:
            return {"type": "thinking", "thinking": part.text, "signature": part.signature}
        case ToolCall() if block:
            return block
        case Media():
            return _media(part, block, facts.get("at"), blobs)
        case Opaque() if part.vendor == VENDOR:
            return _read(part.raw)
        case _:
            return None


def _media(part: Media, block: dict[str, Any], at: list[str] | None, blobs: Blobs) -> Any:
    data = part.data if part.data is not None else blobs(part.blob) if part.blob else None
    words = None if data is None else base64.b64encode(data).decode()
    if block and at is None:
        return block
    if words is None:
        address = part.url or f"[{part.media_type}]"
        return {"type": "image_url", "image_url": {"url": part.url}} if part.url else _label(address)
    url = f"data:{part.media_type};base64,{words}"
    if block and at is not None:
        return _put(block, tuple(at), url if at[0] == "image_url" else words)
    if part.media_type.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": url}}
    return {"type": "file", "base64": words, "mime_type": part.media_type}


def _label(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


# -- JSON --------------------------------------------------------------------------------------------------------


def _at(data: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    value: Any = data
    for key in path:
        value = cast("Mapping[str, Any]", value).get(key) if isinstance(value, Mapping) else None
    return value


def _put(data: Mapping[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    """Return the same object with another value at a path, in the same order."""
    if len(path) == 1:
        return {**data, path[0]: value}
    return {**data, path[0]: _put(cast("Mapping[str, Any]", data.get(path[0]) or {}), path[1:], value)}


def _plain(value: Any) -> Json:
    """Return a value as JSON; what JSON cannot express becomes text."""
    return json.loads(_text(value))


def _text(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, default=str)
    except ValueError:  # a number that JSON does not have
        return json.dumps(str(value), ensure_ascii=False)


def _read(text: str) -> Any:
    """Parse the value in a text; None if it is not valid JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _dump_arguments(arguments: Any) -> str:
    return _text({} if arguments is None else arguments)


def _object(arguments: Json) -> dict[str, Any]:
    """Return the arguments of a call as an object, as LangChain requires."""
    value: object = arguments
    if isinstance(arguments, str):
        try:
            value = json.loads(arguments) if arguments.strip() else {}
        except (ValueError, RecursionError):
            value = {"arguments": arguments}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {"arguments": value}
