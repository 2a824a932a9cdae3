"""Conversion of calls and results of another wire to the form of this one.

Owns: histories written for one provider and sent to another: calls, results and items keep their content. Not here:
everything else about a message.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from backscroll.assemble.validity.draft import DraftMessage, PromptDraft
from backscroll.formats.sources.json_text import dumps
from backscroll.formats.sources.rows import as_array, as_object, as_text, without
from backscroll.vocab.part import Json
from backscroll.vocab.prompt import Wire

_CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
_WORDS = ("text", "parts", "message")
_OUTPUTS = ("function_call_output", "custom_tool_call_output")


class _WireCall(NamedTuple):
    id: str
    name: str
    arguments: Json


class _WireResult(NamedTuple):
    id: str
    content: Json


class _SplitMessage(NamedTuple):
    """A message without its calls and results; `rest` is None if nothing else remains."""

    role: str
    rest: dict[str, Json] | None
    calls: list[_WireCall]
    results: list[_WireResult]


def native(draft: PromptDraft, wire: Wire) -> None:
    """Convert calls and results of other wires to the form of this one; those of this wire stay the same object."""
    out: list[DraftMessage] = []
    for given in draft.entries:
        entry = _with_content(draft, given)
        message = as_object(entry.message)
        found = _apart(message, wire) if message is not None else None
        if found is None:
            out.append(entry)
            continue
        draft.note(
            "S3",
            draft.at(entry),
            "calls or results in the shape of another wire",
            "they have the shape of this one now",
        )
        out += [DraftMessage(spelled, entry.origins) for spelled in _render_messages(found, wire)]
    draft.entries = out


def _with_content(draft: PromptDraft, entry: DraftMessage) -> DraftMessage:
    """Return the message with text under another key, as some programs store it, as its content."""
    message = as_object(entry.message)
    if message is None or "content" in message or not as_text(message.get("role")):
        return entry
    key = next((key for key in _WORDS if isinstance(message.get(key), str | list) and message[key]), None)
    if key is None:
        return entry
    draft.note("S2", draft.at(entry), "words under another name than content", "they are its content now")
    return DraftMessage({**without(message, key), "content": message[key]}, entry.origins)


def _apart(message: Mapping[str, Json], wire: Wire) -> _SplitMessage | None:
    if wire != "openai-responses" and "role" not in message:
        return _of_item(message)
    role = as_text(message.get("role"))
    if wire != "openai-chat" and role == "assistant" and as_array(message.get("tool_calls")):
        calls = [call for item in message["tool_calls"] if (call := _of_chat(item)) is not None]
        rest = without(
            message, "tool_calls", "refusal", "audio", "annotations", "function_call", "reasoning_content"
        )
        return _SplitMessage(role, rest if rest.get("content") else None, calls, [])
    if wire != "anthropic" and role in ("assistant", "user"):
        return _of_blocks(message, role)
    return None


def _of_item(item: Mapping[str, Json]) -> _SplitMessage | None:
    kind = as_text(item.get("type"))
    if kind in _CALLS and as_text(item.get("name")):
        return _SplitMessage(
            "assistant",
            None,
            [_WireCall(as_text(item.get("call_id")), item["name"], item.get(_CALLS[kind]))],
            [],
        )
    if kind in _OUTPUTS:
        return _SplitMessage(
            "user", None, [], [_WireResult(as_text(item.get("call_id")), item.get("output"))]
        )
    return _SplitMessage("assistant", None, [], []) if kind == "reasoning" else None


def _of_chat(item: Json) -> _WireCall | None:
    data = as_object(item) or {}
    inner = as_object(data.get("function")) or as_object(data.get("custom")) or {}
    if not as_text(inner.get("name")):
        return None
    return _WireCall(as_text(data.get("id")), inner["name"], inner.get("arguments", inner.get("input")))


def _of_blocks(message: Mapping[str, Json], role: str) -> _SplitMessage | None:
    rest: list[Json] = []
    calls: list[_WireCall] = []
    results: list[_WireResult] = []
    for block in as_array(message.get("content")) or []:
        data = as_object(block) or {}
        kind = data.get("type")
        if role == "assistant" and kind == "tool_use" and as_text(data.get("name")):
            calls.append(_WireCall(as_text(data.get("id")), data["name"], data.get("input")))
        elif role == "user" and kind == "tool_result":
            results.append(_WireResult(as_text(data.get("tool_use_id")), data.get("content")))
        elif kind not in ("thinking", "redacted_thinking"):
            rest.append(block)
    if not calls and not results:
        return None
    return _SplitMessage(role, {**message, "content": rest} if rest else None, calls, results)


def _render_messages(found: _SplitMessage, wire: Wire) -> list[dict[str, Json]]:
    rest = [found.rest] if found.rest is not None else []
    if found.role != "assistant":
        return [*(_result(result, wire) for result in found.results), *rest]
    if wire == "openai-responses":
        return [*rest, *(_call_item(call) for call in found.calls)]
    if not found.calls:
        return rest
    if wire == "openai-chat":
        calls = [_chat_call(call) for call in found.calls]
        return [{**(found.rest or {"role": "assistant", "content": None}), "tool_calls": calls}]
    content = (found.rest or {}).get("content")
    said: list[Json] = (
        [{"type": "text", "text": content}] if isinstance(content, str) else as_array(content) or []
    )
    used = [{"type": "tool_use", "id": c.id, "name": c.name, "input": c.arguments} for c in found.calls]
    return [{"role": "assistant", "content": [*said, *used]}]


def _text(arguments: Json) -> str:
    return arguments if isinstance(arguments, str) else "{}" if arguments is None else dumps(arguments)


def _chat_call(call: _WireCall) -> dict[str, Json]:
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": _text(call.arguments)},
    }


def _call_item(call: _WireCall) -> dict[str, Json]:
    return {
        "type": "function_call",
        "call_id": call.id,
        "name": call.name,
        "arguments": _text(call.arguments),
    }


def _result(result: _WireResult, wire: Wire) -> dict[str, Json]:
    if wire == "openai-chat":
        return {"role": "tool", "tool_call_id": result.id, "content": result.content}
    if wire == "openai-responses":
        return {"type": "function_call_output", "call_id": result.id, "output": result.content}
    block = {"type": "tool_result", "tool_use_id": result.id, "content": result.content}
    return {"role": "user", "content": [block]}
