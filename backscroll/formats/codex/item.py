"""Convert one item of a Codex rollout to a message and back.

Owns: the items that a model sees: messages, reasoning, calls, their outputs. One item is one message of ours, so that every
line has its place; calls that are answered inside the vendor's service (web search, images) are `Opaque`, because no result
will follow them. The line without its text is in `metadata["codex"]["line"]`. Lines that are not items are kept as asides by
the reader.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from backscroll.formats.losses import Note
from backscroll.formats.shape import Blobs
from backscroll.formats.sources.json_text import NotJson, dumps, object_in, try_parse, value_in
from backscroll.formats.sources.media import bytes_of, from_data_url, to_data_url
from backscroll.formats.sources.rows import as_array, as_object, as_text, of_vendor, under, without
from backscroll.vocab.message import Role
from backscroll.vocab.part import Json, Media, Opaque, Part, Reasoning, Text, ToolCall, ToolResult

VENDOR = "codex"
_ROLES: Mapping[str, Role] = {
    "user": "user",
    "assistant": "assistant",
    "developer": "system",
    "system": "system",
}
#: The fields of each kind of call: its name and its arguments.
_CALLS = {
    "function_call": ("name", "arguments"),
    "custom_tool_call": ("name", "input"),
    "local_shell_call": ("", "action"),
    "tool_search_call": ("", "arguments"),
}
_OUTPUTS = (
    "function_call_output",
    "custom_tool_call_output",
    "local_shell_call_output",
    "mcp_tool_call_output",
)
_SERVED = (
    "web_search_call",
    "image_generation_call",
    "file_search_call",
    "code_interpreter_call",
    "mcp_call",
)
_TEXTS = ("input_text", "output_text", "text", "summary_text", "reasoning_text")
#: Markers of text that Codex injects in the user's or developer's name.
_MACHINE = (
    "<user_instructions>",
    "<environment_context>",
    "# AGENTS.md instructions",
    "<INSTRUCTIONS>",
    "<skill>",
    "<skills_instructions>",
    "<apps_instructions>",
    "<plugins_instructions>",
    "<permissions instructions>",
    "<collaboration_mode>",
    "<multi_agent_mode>",
    "<model_switch>",
    "<personality_spec>",
    "<turn_aborted>",
    "<subagent_notification>",
)
_SHELL = "<user_shell_command>"  # typed by the user, but not a request


class CodexMessage(NamedTuple):
    """An item as a message of ours."""

    role: Role
    parts: tuple[Part, ...]
    author: str | None = None


def is_item(payload: Mapping[str, Json]) -> bool:
    """Return True for items that become messages, if they can be read."""
    kind = payload.get("type")
    return kind in (
        "message",
        "agent_message",
        "reasoning",
        "tool_search_output",
        *_CALLS,
        *_OUTPUTS,
        *_SERVED,
    )


def is_machine(role: Role, text: str) -> bool:
    """Return True for text from neither the user nor the model."""
    return role in ("user", "system") and text.lstrip().startswith(_MACHINE)


def opens_turn(said: CodexMessage) -> bool:
    """Return True for a request of the user, which is what Codex counts when it rolls back."""
    text = next((part.text for part in said.parts if isinstance(part, Text)), "").lstrip()
    return said.role == "user" and not text.startswith((*_MACHINE, _SHELL))


# -- from the file ---------------------------------------------------------------------------------------------


def said_in(payload: Mapping[str, Json]) -> CodexMessage | None:
    """Return the message in an item; None if it is not one or cannot be read."""
    kind = as_text(payload.get("type"))
    if kind == "message" and as_text(payload.get("role")) in _ROLES:
        parts = _contents(payload.get("content"), payload["role"])
        return CodexMessage(_ROLES[payload["role"]], parts) if parts is not None else None
    if kind == "agent_message" and isinstance(payload.get("author"), str):
        parts = _contents(payload.get("content"), "user")
        return CodexMessage("user", parts, payload["author"]) if parts is not None else None
    if kind == "reasoning":
        words = _reasoning_text(payload)
        return CodexMessage("assistant", (Reasoning(words, extra=under(VENDOR, without(payload, "type"))),))
    if kind in _CALLS:
        return _call(kind, payload)
    if kind in _OUTPUTS and isinstance(payload.get("call_id"), str) and "output" in payload:
        return CodexMessage("tool", (_output(payload),))
    if kind == "tool_search_output" and isinstance(payload.get("call_id"), str):
        tools = Opaque(VENDOR, "tools", dumps(payload.get("tools")))
        return CodexMessage("tool", (ToolResult(payload["call_id"], (tools,), name="tool_search"),))
    return CodexMessage("assistant", (Opaque(VENDOR, kind, dumps(payload)),)) if kind in _SERVED else None


def _contents(content: Json, role: str) -> tuple[Part, ...] | None:
    if isinstance(content, str):
        return (Text(content),)
    items = as_array(content)
    return None if items is None else tuple(_content(item, role) for item in items)


def _content(item: Json, role: str) -> Text | Media | Opaque:
    data = as_object(item) or {}
    kind = data.get("type")
    if kind in _TEXTS and isinstance(data.get("text"), str):
        facts = without(data, "text") if kind != _text_kind(role) else without(data, "text", "type")
        return Text(data["text"], under(VENDOR, facts))
    if kind == "input_image" and isinstance(data.get("image_url"), str):
        facts = without(data, "type", "image_url")
        found = from_data_url(data["image_url"])
        if found is not None:
            return Media(found[0], data=found[1], extra=under(VENDOR, facts))
        if not data["image_url"].startswith("data:"):
            return Media("image/*", url=data["image_url"], extra=under(VENDOR, facts))
    return Opaque(VENDOR, as_text(kind), dumps(item))


def _text_kind(role: str) -> str:
    return "output_text" if role == "assistant" else "input_text"


def _reasoning_text(payload: Mapping[str, Json]) -> str:
    for key in ("summary", "content"):
        items = (as_object(item) or {} for item in as_array(payload.get(key)) or [])
        words = [item["text"] for item in items if isinstance(item.get("text"), str)]
        if words:
            return "\n\n".join(words)
    return ""


def _call(kind: str, payload: Mapping[str, Json]) -> CodexMessage | None:
    named, asks = _CALLS[kind]
    name = payload.get(named) if named else kind.removesuffix("_call")
    call = as_text(payload.get("call_id")) or as_text(payload.get("id"))
    if not isinstance(name, str) or asks not in payload:
        return None
    if kind == "tool_search_call" and not call:
        return CodexMessage("assistant", (Opaque(VENDOR, kind, dumps(payload)),))
    return CodexMessage("assistant", (ToolCall(call, name, payload[asks]),))


def _output(payload: Mapping[str, Json]) -> ToolResult:
    output, inner = payload["output"], as_object(payload["output"])
    if inner is not None and isinstance(inner.get("content"), str):
        return ToolResult(payload["call_id"], (Text(inner["content"]),), inner.get("success") is False)
    if isinstance(output, str):
        return ToolResult(payload["call_id"], (Text(output),) if output else ())
    items = as_array(output)
    if items is None:
        return ToolResult(payload["call_id"], (Opaque(VENDOR, "output", dumps(output)),))
    return ToolResult(payload["call_id"], tuple(_content(item, "user") for item in items))


# -- back to the file ------------------------------------------------------------------------------------------


def taken_out(payload: Mapping[str, Json]) -> dict[str, Json]:
    """Return the item without its text, keys in the same order; a placeholder records the original form of the text."""
    kind = payload.get("type")
    gone = {"message": ["content"], "agent_message": ["content"]}.get(as_text(kind), [])
    if kind in _CALLS:
        gone = [_CALLS[kind][1]]
    elif kind in _OUTPUTS:
        gone = ["output"]
    elif kind == "tool_search_output":
        gone = ["tools"]
    elif kind == "reasoning" or kind in _SERVED:
        return {"type": kind}
    return {key: _place_holder(value) if key in gone else value for key, value in payload.items()}


def _place_holder(value: Json) -> Json:
    inner = as_object(value)
    if inner is not None and isinstance(inner.get("content"), str):
        return {**inner, "content": ""}
    return "" if isinstance(value, str) else []


def put_back(
    skeleton: Mapping[str, Json], parts: Sequence[Part], blobs: Blobs, note: Note
) -> dict[str, Json] | None:
    """Return the item with this content; None if it no longer fits (an edit turned text into a call)."""
    kind = as_text(skeleton.get("type"))
    only = parts[0] if len(parts) == 1 else None
    if kind in ("message", "agent_message"):
        plain = [part for part in parts if isinstance(part, Text | Media | Opaque)]
        role = as_text(skeleton.get("role")) or "user"
        return (
            {**skeleton, "content": contents(plain, role, skeleton.get("content") == "", blobs, note)}
            if len(plain) == len(parts)
            else None
        )
    if isinstance(only, Reasoning) and kind == "reasoning":
        return _reasoning_back(only)
    if isinstance(only, ToolCall) and kind in _CALLS:
        named, asks = _CALLS[kind]
        return {**skeleton, **({named: only.name} if named else {}), asks: only.arguments}
    if isinstance(only, ToolResult) and kind in _OUTPUTS:
        return {**skeleton, "output": _output_back(skeleton.get("output"), only, blobs, note)}
    if isinstance(only, ToolResult) and kind == "tool_search_output" and len(only.content) == 1:
        tools = only.content[0]
        told = try_parse(tools.raw) if isinstance(tools, Opaque) and "tools" in skeleton else NotJson("", 0)
        return dict(skeleton) if isinstance(told, NotJson) else {**skeleton, "tools": told}
    if isinstance(only, Opaque) and only.vendor == VENDOR and only.kind == kind:
        return object_in(only.raw)
    return None


def contents(parts: Sequence[Part], role: str, plain: bool, blobs: Blobs, note: Note) -> Json:
    """Return a content: a string if it was one and still can be, else a list."""
    if plain and len(parts) == 1 and isinstance(parts[0], Text) and not of_vendor(parts[0].extra, VENDOR):
        return parts[0].text
    out = (_content_back(part, role, blobs, note) for part in parts)
    return [item for item in out if item is not None]


def _content_back(part: Part, role: str, blobs: Blobs, note: Note) -> Json:
    facts = of_vendor(part.extra, VENDOR)
    match part:
        case Text():
            return {"type": _text_kind(role), "text": part.text, **facts}
        case Media():
            data = bytes_of(part, blobs)
            if data is None and part.url is None:
                note(f"the bytes of an attachment ({part.media_type}) are not there any more")
                return {"type": _text_kind(role), "text": f"[{part.media_type}]"}
            if not part.media_type.startswith("image/") or role == "assistant":
                note(f"an attachment of the type {part.media_type} left out")
                return {"type": _text_kind(role), "text": f"[{part.name or part.media_type}]"}
            address = part.url if data is None else to_data_url(part.media_type, data)
            return {"type": "input_image", "image_url": address, **facts}
        case Opaque() if part.vendor == VENDOR and (whole := value_in(part.raw)) is not None:
            return whole
        case Opaque():
            note(f"a part of the kind {part.kind!r} by {part.vendor} left out")
            return None
        case _:
            return None


def _reasoning_back(part: Reasoning) -> dict[str, Json]:
    facts = dict(of_vendor(part.extra, VENDOR))
    if _reasoning_text(facts) != part.text:  # edited since
        facts["summary"] = [{"type": "summary_text", "text": part.text}]
    return {"type": "reasoning", **facts}


def _output_back(stood: Json, part: ToolResult, blobs: Blobs, note: Note) -> Json:
    only = part.content[0] if len(part.content) == 1 else None
    if isinstance(only, Opaque) and only.kind == "output" and only.vendor == VENDOR:
        told = try_parse(only.raw)
        return only.raw if isinstance(told, NotJson) else told
    inner = as_object(stood)
    if inner is not None and isinstance(only, Text):
        return {**inner, "content": only.text}
    if stood == "" and not part.content:
        return ""
    return contents(part.content, "user", stood == "", blobs, note)
