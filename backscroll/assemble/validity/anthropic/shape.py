"""Validation of single Anthropic messages: only role and content, blocks of valid kinds, no empty text.

Owns: what can be checked without the neighbours, and the system prompt. Not here: pairing and order; `anthropic` does that.
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
    orphan_text,
    with_role,
    words_of,
)
from backscroll.assemble.validity.names import is_tool_name, tool_name
from backscroll.formats.sources.json_text import dumps, words_parsed
from backscroll.formats.sources.rows import as_array, as_object, as_text, without
from backscroll.vocab.part import Json

_ALIASES: Final = {
    "human": "user", "ai": "assistant", "model": "assistant", "bot": "assistant", "developer": "system",
}  # fmt: skip
#: Parts of other wires; any other unknown part may be a newer block of this one.
_FOREIGN: Final = {
    "input_text", "output_text", "image_url", "input_audio", "input_image", "input_file", "refusal",
    "function_call", "function_call_output", "reasoning",
}  # fmt: skip
_LONGEST_NAME: Final = 128
THOUGHTS: Final = ("thinking", "redacted_thinking")


def shape_entry(draft: PromptDraft, entry: DraftMessage) -> DraftMessage | None:
    """Return the entry as a valid message; the same object if it is valid; None if nothing remains of it."""
    entry = _as_message(draft, entry)
    message = as_object(entry.message)
    if message is None:
        return None
    if message["role"] == "assistant" and is_aborted(message):
        draft.note(
            "V6", draft.at(entry), "a reply that did not come to its end", "it was removed with its calls"
        )
        blocks = (as_object(block) or {} for block in as_array(message.get("content")) or [])
        draft.aborted |= {as_text(b.get("id")) for b in blocks if b.get("type") == "tool_use"} - {""}
        return None
    own = ("role", "content", "clear_at") if message["role"] == "system" else ("role", "content")
    strange = [key for key in message if key not in own]
    if strange:
        draft.note(
            "S4", draft.at(entry), "fields that a message does not have on this wire", "they were removed"
        )
    content = _content(draft, entry, message.get("content"), message["role"])
    if content is None:
        draft.note("V4", draft.at(entry), "a message without content", "it was removed")
        return None
    if not strange and "content" in message and content is message["content"]:
        return entry
    cleared = {key: message[key] for key in own[2:] if key in message}
    return DraftMessage({"role": message["role"], "content": content, **cleared}, entry.origins)


def _as_message(draft: PromptDraft, entry: DraftMessage) -> DraftMessage:
    message = as_object(entry.message)
    if not message:
        return no_message(draft, entry)
    role = message.get("role")
    if isinstance(role, str) and role in ("user", "assistant", "system"):
        return entry
    if role in ("tool", "function"):
        draft.note(
            "S1",
            draft.at(entry),
            "a message with a role that this wire does not know",
            "it became a result in a user message",
        )
        result = {
            "type": "tool_result",
            "tool_use_id": as_text(message.get("tool_call_id")),
            "content": message.get("content"),
        }
        return DraftMessage({"role": "user", "content": [result]}, entry.origins)
    wanted = _ALIASES.get(role.lower(), "user") if isinstance(role, str) else "user"
    return with_role(draft, entry, message, wanted)


# -- contents --------------------------------------------------------------------------------------------------


def _content(draft: PromptDraft, entry: DraftMessage, content: Json, role: str) -> Json:
    if content is None:
        return None
    if isinstance(content, str):
        return content if content.strip() else None
    items = as_array(content)
    if items is None:
        draft.note(
            "S2", draft.at(entry, ".content"), "a content that is neither text nor a list", "it became a list"
        )
        items = [content]
    out: list[Json] = []
    for number, item in enumerate(items):
        where = draft.at(entry, f".content[{number}]")
        block = _block(draft, where, item, role)
        if block is not None:
            out.append(block)
    if not out:
        return None
    same = len(out) == len(items) and all(a is b for a, b in zip(out, items, strict=True))
    return content if same and items is content else out


def _block(draft: PromptDraft, where: str, item: Json, role: str) -> Json:
    """Return the block in valid form; None if it must be dropped."""
    data = as_object(item)
    kind = data.get("type") if data is not None else None
    if data is None or not isinstance(kind, str) or not kind or kind in _FOREIGN:
        words = words_of(item) if data is None else words_of(data.get("text")) or dumps(without(data, "type"))
        if is_empty(item) or not words.strip() or words == "{}":
            draft.note("A5", where, "a block that says nothing", "it was removed")
            return None
        draft.note("S2", where, "a block that is not allowed here", "it became text")
        return {"type": "text", "text": words}
    if kind == "text":
        return _text(draft, where, item, data)
    if kind == "tool_use":
        return _call(draft, where, data, item, role)
    if kind == "tool_result":
        return _result(draft, where, data, item, role)
    if kind in ("image", "document"):
        return _media(draft, where, data, item, role)
    if kind in THOUGHTS and role != "assistant":
        draft.note("A7", where, "thinking outside of a reply", "it was removed")
        return None
    if kind == "compaction":
        return _compaction(draft, where, data, item)
    return item


def _text(draft: PromptDraft, where: str, item: Json, data: Mapping[str, Json]) -> Json:
    text = data.get("text")
    if isinstance(text, str) and text.strip():
        return item
    if isinstance(text, str) or is_empty(text):
        draft.note("A5", where, "a text block with no text", "it was removed")
        return None
    draft.note("S2", where, "a text block whose text is not a string", "it became text")
    return {**data, "text": words_of(text)}


def _call(draft: PromptDraft, where: str, data: Mapping[str, Json], item: Json, role: str) -> Json:
    name = data.get("name")
    if role != "assistant" or not isinstance(name, str) or not name:
        draft.note("S3", where, "a call without a tool name, or outside of a reply", "it became text")
        return {"type": "text", "text": f"[call] {dumps(without(data, 'type'))}"}
    out = dict(data)
    if not is_tool_name(name, _LONGEST_NAME):
        draft.note(
            "S3", where, "a tool's name with letters that the wire does not allow", "the name was changed"
        )
        out["name"] = tool_name(name)
    if as_object(data.get("input")) is None:
        given = data.get("input")
        value = as_object(words_parsed(given)) if isinstance(given, str) else None
        draft.note("S3", where, "arguments that are not an object", "they became one")
        out["input"] = value if value is not None else {} if is_empty(given) else {"arguments": given}
    if not isinstance(data.get("id"), str) or not data["id"]:
        draft.note("S3", where, "a call without an id", "it got one")
        out["id"] = f"call_{mint_digits(out['name'], dumps(out['input']), where)[:24]}"
    return item if out == data else out


def _result(draft: PromptDraft, where: str, data: Mapping[str, Json], item: Json, role: str) -> Json:
    id = data.get("tool_use_id")
    if role != "user":
        draft.note("A1", where, "a result outside of a user message", "it became text")
        return {"type": "text", "text": orphan_text(as_text(id), words_of(data.get("content")))}
    out = dict(data)
    if not isinstance(id, str):
        draft.note(
            "S3",
            where,
            "a result that does not say which call it answers",
            "it is treated as one without a call",
        )
        out["tool_use_id"] = ""
    if "content" in data:
        content = _inner(draft, where, data["content"])
        if content is not data["content"]:
            out["content"] = content
    if "is_error" in data and not isinstance(data["is_error"], bool):
        draft.note(
            "S2", where, "a result that says neither yes nor no to having failed", "the field was removed"
        )
        del out["is_error"]
    same = out.keys() == data.keys() and all(out[key] is data[key] for key in out)
    return item if same else out


def _inner(draft: PromptDraft, where: str, content: Json) -> Json:
    if isinstance(content, str):
        return content
    items = as_array(content)
    if items is None:
        draft.note("S2", where, "the content of a result is neither text nor a list", "it became text")
        return words_of(content)
    out: list[Json] = []
    for number, item in enumerate(items):
        kind = (as_object(item) or {}).get("type")
        inside = f"{where}.content[{number}]"
        if kind in ("tool_use", "tool_result", *THOUGHTS):
            draft.note("S2", inside, "a block that is not allowed here", "it became text")
            out.append({"type": "text", "text": dumps(item)})
            continue
        block = _block(draft, inside, item, "user")
        if block is not None:
            out.append(block)
    same = len(out) == len(items) and all(a is b for a, b in zip(out, items, strict=True))
    return content if same else out or ""


def _media(draft: PromptDraft, where: str, data: Mapping[str, Json], item: Json, role: str) -> Json:
    kind, source = data["type"], as_object(data.get("source"))
    if role == "user" and source and isinstance(source.get("type"), str):
        return item
    draft.note(
        "S2",
        where,
        "an attachment without its source, or outside of a user message",
        "its name replaces it",
    )
    return {"type": "text", "text": f"[{kind}]"}


def _compaction(draft: PromptDraft, where: str, data: Mapping[str, Json], item: Json) -> Json:
    content = data.get("content")
    if "content" in data and (content is None or (isinstance(content, str) and content)):
        return item
    draft.note("A14", where, "a compaction block with an empty content", "its content is null")
    return {**data, "content": words_of(content) or None}


def shaped_system(draft: PromptDraft) -> None:
    """Return the system prompt in valid form: nothing, text, or a list of text blocks."""
    system = draft.system
    if system is None or (isinstance(system, str) and system.strip()):
        return
    items = as_array(system)
    if isinstance(system, str) or items is None:
        draft.note("A5", "system", "a system prompt without text", "it was removed, or became text")
        draft.system = None if isinstance(system, str) or is_empty(system) else words_of(system)
        return
    out: list[Json] = []
    for number, item in enumerate(items):
        data, where = as_object(item), f"system[{number}]"
        text = data.get("text") if data is not None and data.get("type") == "text" else None
        if isinstance(text, str) and text.strip():
            out.append(item)
            continue
        words = words_of(item) if data is None else words_of(data.get("text"))
        draft.note(
            "A5", where, "a block of the system prompt that is not text", "it was removed, or became text"
        )
        if words.strip():
            out.append({"type": "text", "text": words})
    if not out and not items:
        draft.note("A5", "system", "a system prompt without text", "it was removed, or became text")
    same = len(out) == len(items) and all(a is b for a, b in zip(out, items, strict=True))
    if not same or not out:
        draft.system = out or None
