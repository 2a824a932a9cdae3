"""Validation of single OpenAI Chat messages: an object with a role, valid content, valid calls.

Owns: what can be checked without the neighbours. Not here: pairing; `chat` does that.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from backscroll.assemble.validity.draft import (
    DraftMessage,
    PromptDraft,
    is_aborted,
    is_empty,
    mint_digits,
    no_message,
    with_parts,
    with_role,
    words_of,
)
from backscroll.assemble.validity.names import is_tool_name, tool_name
from backscroll.formats.sources.json_text import dumps
from backscroll.formats.sources.rows import as_array, as_object, as_text, without
from backscroll.vocab.part import Json

ROLES: Final = ("system", "developer", "user", "assistant", "tool", "function")
_ALIASES: Final = {
    "human": "user",
    "ai": "assistant",
    "model": "assistant",
    "bot": "assistant",
    "gpt": "assistant",
}
_MEDIA: Final = {"image_url": "image", "input_audio": "sound", "file": "file"}
#: Parts of other wires; any other unknown part may be a newer part of this one.
_FOREIGN: Final = {
    "input_text", "output_text", "tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document",
    "input_image", "input_file", "function_call", "function_call_output", "reasoning", "summary_text",
}  # fmt: skip
_LONGEST_NAME: Final = 64


def shape_entry(draft: PromptDraft, entry: DraftMessage) -> DraftMessage | None:
    """Return the entry as a valid message; the same object if it is valid; None if nothing remains of it."""
    entry = _as_message(draft, entry)
    message = as_object(entry.message)
    if message is None:
        return None
    role = message["role"]
    if role == "assistant":
        return _reply(draft, entry, message)
    if role in ("tool", "function"):
        return _result(draft, entry, message)
    content = content_of(draft, entry, message.get("content"), role)
    if content is None:
        draft.note("V4", draft.at(entry), "a message without content", "it was removed")
        return None
    return _with(entry, message, content)


def _with(entry: DraftMessage, message: Mapping[str, Json], content: Json) -> DraftMessage:
    if "content" in message and content is message["content"]:
        return entry
    return DraftMessage({**message, "content": content}, entry.origins)


def _as_message(draft: PromptDraft, entry: DraftMessage) -> DraftMessage:
    message = as_object(entry.message)
    if not message:
        return no_message(draft, entry)
    role = message.get("role")
    if isinstance(role, str) and role in ROLES:
        return entry
    wanted = _ALIASES.get(role.lower(), "user") if isinstance(role, str) else "user"
    return with_role(draft, entry, message, wanted)


# -- contents --------------------------------------------------------------------------------------------------


def content_of(draft: PromptDraft, entry: DraftMessage, content: Json, role: str) -> Json:
    """Return the content as text or a list of parts; None if it is empty."""
    return with_parts(draft, draft.at(entry, ".content"), content, lambda item: _part(item, role))


def _part(item: Json, role: str) -> Json:
    data = as_object(item)
    if data is None:
        return None if is_empty(item) else {"type": "text", "text": words_of(item)}
    kind = as_text(data.get("type"))
    if kind == "text":
        text = data.get("text")
        return (item if text else None) if isinstance(text, str) else _text(text, data)
    if kind == "refusal":
        refusal = data.get("refusal")
        right = role == "assistant" and isinstance(refusal, str) and refusal
        return item if right else _text(refusal, data)
    if kind in _MEDIA:
        return _media(item, data, role)
    if not kind or kind in _FOREIGN:
        return _text(data.get("text"), data)
    return item


def _text(text: Json, data: Mapping[str, Json]) -> Json:
    words = words_of(text) if not is_empty(text) else dumps(without(data, "type"))
    return (
        None
        if is_empty(text) and is_empty(without(data, "type", "text", "refusal"))
        else {"type": "text", "text": words}
    )


def _media(item: Json, data: Mapping[str, Json], role: str) -> Json:
    kind = as_text(data["type"])
    if role != "user":
        return {"type": "text", "text": f"[{_MEDIA[kind]}]"}
    inner = as_object(data.get(kind))
    if kind == "image_url" and isinstance(data.get(kind), str) and data[kind]:
        return {**data, "image_url": {"url": data[kind]}}
    needed = {"image_url": ("url",), "input_audio": ("data", "format"), "file": ()}[kind]
    if inner and all(isinstance(inner.get(key), str) and inner[key] for key in needed):
        return item
    return {"type": "text", "text": f"[{_MEDIA[kind]}]"}


# -- replies and results ---------------------------------------------------------------------------------------


def _reply(draft: PromptDraft, entry: DraftMessage, message: Mapping[str, Json]) -> DraftMessage | None:
    if is_aborted(message):
        draft.note(
            "V6", draft.at(entry), "a reply that did not come to its end", "it was removed with its calls"
        )
        calls = (as_object(call) or {} for call in as_array(message.get("tool_calls")) or [])
        draft.aborted |= {as_text(call.get("id")) for call in calls} - {""}
        return None
    out = dict(message)
    calls = _calls(draft, entry, message)
    if calls is not message.get("tool_calls"):
        out["tool_calls"] = calls
    if not calls:
        out.pop("tool_calls", None)
    # Null means that there is none; OpenAI's own SDK sends it.
    old = message.get("function_call")
    if old is not None and _legacy(draft, entry, old, bool(calls)) is None:
        del out["function_call"]
    asks = (
        bool(calls)
        or out.get("function_call") is not None
        or bool(message.get("refusal"))
        or bool(message.get("audio"))
    )
    content = content_of(draft, entry, message.get("content"), "assistant")
    if content is None and not asks:
        rule = "C3" if message.get("content") is None else "V4"
        draft.note(rule, draft.at(entry), "a reply without content and without calls", "it was removed")
        return None
    if content is None and message.get("content") not in (None, ""):
        out["content"] = None
    elif content is not None and content is not message.get("content"):
        out["content"] = content
    same = out.keys() == message.keys() and all(out[key] is message[key] for key in out)
    return entry if same else DraftMessage(out, entry.origins)


def _legacy(draft: PromptDraft, entry: DraftMessage, call: Json, beside: bool) -> Json:
    data = as_object(call) or {}
    if beside:
        where = draft.at(entry, ".function_call")
        draft.note("S3", where, "a call in the old way beside others", "it was removed")
        return None
    if isinstance(data.get("name"), str) and data["name"] and isinstance(data.get("arguments"), str):
        return call
    draft.note("S3", draft.at(entry, ".function_call"), "a call that cannot be read", "it was removed")
    return None


def _calls(draft: PromptDraft, entry: DraftMessage, message: Mapping[str, Json]) -> Json:
    if "tool_calls" not in message:
        return None
    calls = as_array(message["tool_calls"])
    if not calls:
        draft.note(
            "C3", draft.at(entry, ".tool_calls"), "a list of calls with no call in it", "it was removed"
        )
        return None
    out = [_call(draft, draft.at(entry, f".tool_calls[{n}]"), call, n) for n, call in enumerate(calls)]
    left = [call for call in out if call is not None]
    same = len(left) == len(calls) and all(a is b for a, b in zip(left, calls, strict=True))
    return calls if same else left


def _call(draft: PromptDraft, where: str, call: Json, number: int) -> Json:
    data = as_object(call)
    key, said = ("custom", "input") if data and data.get("type") == "custom" else ("function", "arguments")
    inner = as_object(data.get(key)) if data else None
    if data is None or inner is None or not isinstance(inner.get("name"), str) or not inner["name"]:
        draft.note("S3", where, "a call that names no tool", "it was removed")
        return None
    asked, out = dict(inner), dict(data)
    if data.get("type") not in ("function", "custom"):
        draft.note("S3", where, "a call that does not say what kind of call it is", "it is a function's")
        out["type"] = "function"
    if not is_tool_name(inner["name"], _LONGEST_NAME):
        draft.note(
            "S3", where, "a tool's name with letters that the wire does not allow", "the name was changed"
        )
        asked["name"] = tool_name(inner["name"])
    if not isinstance(inner.get(said), str):
        draft.note("S3", where, "arguments that are not text", "they were written as JSON text")
        asked[said] = dumps(inner[said]) if inner.get(said) is not None else "{}" if key == "function" else ""
    if not isinstance(data.get("id"), str) or not data["id"]:
        draft.note("S3", where, "a call without an id", "it got one")
        out["id"] = f"call_{mint_digits(asked['name'], asked[said], str(number))[:24]}"
    if asked != inner:
        out[key] = asked
    return call if out == data else out


def _result(draft: PromptDraft, entry: DraftMessage, message: Mapping[str, Json]) -> DraftMessage:
    """Return a result as text, which may be empty."""
    content = message.get("content")
    if content == "":
        return entry
    mended = content_of(draft, entry, content, "tool")
    if mended is None:
        draft.note(
            "S2", draft.at(entry, ".content"), "a result without content", "its content is an empty text"
        )
        mended = ""
    return _with(entry, message, mended)
