"""Convert an OpenAI Chat message to one of ours and back to the same JSON value.

Owns: the plain functions that programs use. If a message of ours alone would not give the same wire message (`content: null`,
the role `developer`, unknown fields), the rest is in `metadata["openai"]`: `role`, `content` (its original form), `fields`.
Validity is checked by assembly.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from backscroll.errors import FormatError, InvalidInput
from backscroll.formats.losses import Note, quiet
from backscroll.formats.openai.parts import (
    VENDOR,
    ContentPart,
    call_from,
    call_to,
    opaque,
    part_to,
    parts_from,
)
from backscroll.formats.shape import Blobs
from backscroll.formats.sources.json_text import object_in
from backscroll.formats.sources.media import no_blobs
from backscroll.formats.sources.rows import as_array, as_object, as_text, of_vendor, own, same, under, without
from backscroll.vocab.foreign import ForeignMessage
from backscroll.vocab.message import Content, Role
from backscroll.vocab.part import Json, Media, Opaque, Part, Reasoning, Text, ToolCall, ToolResult

ROLES: Mapping[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
_SPEAKERS = frozenset({"system", "user", "assistant"})
_THOUGHT = ("reasoning_content", "reasoning")
_NAME = re.compile(r"[^\s<|\\/>]{1,64}")


# -- from the wire ---------------------------------------------------------------------------------------------


def messages_from_openai(messages: Sequence[Json]) -> list[ForeignMessage]:
    """Return a list of wire messages as ours. Raises FormatError for an entry that is not a message."""
    pairing = LegacyCalls()
    out: list[ForeignMessage] = []
    for number, message in enumerate(messages):
        data = as_object(message)
        if data is None or as_text(data.get("role")) not in ROLES:
            raise FormatError(
                f"entry {number} is not a chat message", hint=f"known roles: {', '.join(ROLES)}"
            )
        role, content = message_from_openai(data, pairing)
        out.append(ForeignMessage(role, content))
    return out


class LegacyCalls:
    """Ids for the calls of the old `function_call` field, which has none: a result belongs to the latest call."""

    def __init__(self) -> None:
        self._count = 0
        self._latest: dict[str, str] = {}

    def mint_call_id(self, name: str) -> str:
        """Return the id of a new call."""
        self._count += 1
        self._latest[name] = f"function_call_{self._count}"
        return self._latest[name]

    def find_call_id(self, name: str) -> str:
        """Return the id of the call that a function's result answers; empty if it was never called."""
        return self._latest.get(name, "")


def message_from_openai(data: Mapping[str, Json], pairing: LegacyCalls | None = None) -> tuple[Role, Content]:
    """Return one wire message; its role has to be a known one."""
    if len(data) == 2 and data["role"] in _SPEAKERS and type(text := data.get("content")) is str and text:
        return ROLES[data["role"]], Content(
            (Text(text),)
        )  # fast path for nearly every message; the code below gives the same
    role, fields = ROLES[data["role"]], without(data, "role")
    pairing = pairing or LegacyCalls()
    if role == "tool":
        parts, author = _result(data["role"], fields, pairing), None
    else:
        parts, author = _take_parts(fields, pairing)
    plain = Content(parts, author)
    if same(_wire(role, plain, no_blobs, quiet), data):
        return role, plain
    meta: dict[str, Json] = {"content": _describe_content_shape(data)}
    meta |= {"role": data["role"]} if data["role"] != role else {}
    meta |= {"fields": fields} if fields else {}
    content = Content(parts, author, {VENDOR: meta})
    if same(_wire(role, content, no_blobs, quiet), data):
        return role, content
    return role, Content((opaque("message", dict(data)),))


def _describe_content_shape(data: Mapping[str, Json]) -> str:
    if "content" not in data:
        return "absent"
    content = data["content"]
    return "null" if content is None else "string" if isinstance(content, str) else "list"


def _result(role: str, fields: dict[str, Json], pairing: LegacyCalls) -> tuple[Part, ...]:
    """Remove the known fields from `fields` and return their parts."""
    name = fields.pop("name") if isinstance(fields.get("name"), str) else None
    if role == "tool":
        call = fields.pop("tool_call_id") if isinstance(fields.get("tool_call_id"), str) else ""
    else:
        call = pairing.find_call_id(name or "")
    content = parts_from(_take_content(fields))
    return (ToolResult(call, content, name=name),)


def _take_content(fields: dict[str, Json]) -> Json:
    """Return the content, removed from the fields if it is of a known kind."""
    content = fields.get("content")
    if "content" in fields and (content is None or isinstance(content, str) or as_array(content) is not None):
        return fields.pop("content")
    return None


def _take_parts(fields: dict[str, Json], pairing: LegacyCalls) -> tuple[tuple[Part, ...], str | None]:
    """Remove the known fields from `fields` and return their parts."""
    parts: list[Part] = []
    for key in _THOUGHT:
        if isinstance(fields.get(key), str) and fields[key]:
            facts = {"field": key} if key != _THOUGHT[0] else {}
            parts.append(Reasoning(fields.pop(key), extra=under(VENDOR, facts)))
    parts.extend(parts_from(_take_content(fields)))
    if isinstance(fields.get("refusal"), str) and fields["refusal"]:
        parts.append(Text(fields.pop("refusal"), under(VENDOR, {"field": "refusal"})))
    calls = as_array(fields.get("tool_calls"))
    if calls:
        parts.extend(call_from(call) for call in calls)
        del fields["tool_calls"]
    legacy = as_object(fields.get("function_call"))
    if legacy is not None and isinstance(legacy.get("name"), str) and set(legacy) == {"name", "arguments"}:
        facts = {"field": "function_call"}
        parts.append(
            ToolCall(
                pairing.mint_call_id(legacy["name"]),
                legacy["name"],
                legacy["arguments"],
                under(VENDOR, facts),
            )
        )
        del fields["function_call"]
    name = fields.get("name")
    if isinstance(name, str) and name:
        del fields["name"]
        return tuple(parts), name
    return tuple(parts), None


# -- to the wire -----------------------------------------------------------------------------------------------


def message_to_openai(role: Role, content: Content, blobs: Blobs, note: Note = quiet) -> dict[str, Json]:
    """Return the wire message for one of ours. Raises InvalidInput if it takes several (see `openai_messages`)."""
    out = openai_messages(role, content, blobs, note)
    if len(out) != 1:
        raise InvalidInput(f"this takes {len(out)} messages on the wire", hint="use openai_messages")
    return out[0]


def openai_messages(role: Role, content: Content, blobs: Blobs, note: Note = quiet) -> list[dict[str, Json]]:
    """Return the wire messages for one of ours: each tool result is a message, other content follows."""
    results = [part for part in content.parts if isinstance(part, ToolResult)]
    if role == "tool" and len(results) <= 1 and len(results) == len(content.parts):
        return [_wire(role, content, blobs, note)]
    if not results and role != "tool":
        return [_wire(role, content, blobs, note)]
    out = [_wire("tool", Content((result,)), blobs, note) for result in results]
    rest = tuple(part for part in content.parts if not isinstance(part, ToolResult))
    if rest:
        out.append(_wire("user" if role == "tool" else role, Content(rest, content.author), blobs, note))
    return out


def _wire(role: Role, content: Content, blobs: Blobs, note: Note) -> dict[str, Json]:
    first = content.parts[0] if content.parts else None
    if isinstance(first, Opaque) and first.vendor == VENDOR and first.kind == "message":
        whole = object_in(first.raw)
        if whole is not None:
            return whole
    meta = own(content, VENDOR)
    out: dict[str, Json] = {"role": as_text(meta.get("role")) or role}
    if role == "tool":
        _say_result(out, content, meta, blobs, note)
    else:
        _say(out, content, meta, blobs, note)
    return out | (as_object(meta.get("fields")) or {})


def _say_result(
    out: dict[str, Json], content: Content, meta: Mapping[str, Json], blobs: Blobs, note: Note
) -> None:
    result = content.parts[0] if content.parts else None
    if not isinstance(result, ToolResult):
        return
    fields = as_object(meta.get("fields")) or {}
    if out["role"] == "tool" and ("tool_call_id" not in fields and (result.call_id or not meta)):
        out["tool_call_id"] = result.call_id
    if result.is_error:
        note("the wire cannot say that a tool failed, only its words can")
    said = [_only_text(part, note) for part in result.content] if not meta else list(result.content)
    stood = as_text(meta.get("content"))
    _put_content(out, said, stood or "string", blobs, note)
    if result.name is not None and (meta or result.name):
        out["name"] = result.name


def _only_text(part: ContentPart, note: Note) -> ContentPart:
    if isinstance(part, Media):
        note(f"a tool's answer is text only: an attachment ({part.media_type}) left out")
        return Text(f"[{part.media_type}]")
    return part


def _say(out: dict[str, Json], content: Content, meta: Mapping[str, Json], blobs: Blobs, note: Note) -> None:
    said: list[ContentPart] = []
    calls: list[dict[str, Json]] = []
    for part in content.parts:
        where = of_vendor(part.extra, VENDOR).get("field")
        match part:
            case Reasoning():
                out[as_text(where) or _THOUGHT[0]] = part.text
                if part.signature is not None:
                    note("the signature of a reasoning left out")
            case Text() if where == "refusal":
                out["refusal"] = part.text
            case ToolCall() if where == "function_call":
                out["function_call"] = {"name": part.name, "arguments": part.arguments}
            case ToolCall():
                calls.append(call_to(part))
            case Opaque() if where == "tool_calls" and (call := object_in(part.raw)) is not None:
                calls.append(call)
            case Text() | Media() | Opaque():
                if calls and not meta:
                    note("words after a tool call are written before it")
                said.append(_only_text(part, note) if out["role"] != "user" and not meta else part)
            case ToolResult():
                pass  # a message of its own: see openai_messages
    if calls:
        out["tool_calls"] = calls
    default = "null" if calls and not said else "string"
    _put_content(out, said, as_text(meta.get("content")) or default, blobs, note)
    _put_name(out, content.author, bool(meta), note)


def _put_content(
    out: dict[str, Json], said: Sequence[ContentPart], stood: str, blobs: Blobs, note: Note
) -> None:
    plain = len(said) == 1 and isinstance(said[0], Text) and not said[0].extra
    if not said and stood == "absent":
        return
    if not said and stood in ("string", "null"):
        out["content"] = "" if stood == "string" else None
    elif plain and stood != "list" and isinstance(said[0], Text):
        out["content"] = said[0].text
    else:
        items = (part_to(part, blobs, note) for part in said)
        out["content"] = [item for item in items if item is not None]


def _put_name(out: dict[str, Json], author: str | None, vendor: bool, note: Note) -> None:
    if author is None:
        return
    if vendor or _NAME.fullmatch(author):
        out["name"] = author
    else:
        note(f"not a name that the wire allows: {author!r} left out")
