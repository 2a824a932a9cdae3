"""Validation of single items on the OpenAI Responses wire: messages, calls, outputs, reasoning, compactions.

Owns: what can be checked without the neighbours. Not here: pairing and order; `responses` does that.
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
    words_of,
)
from backscroll.assemble.validity.names import is_tool_name, tool_name
from backscroll.formats.sources.json_text import dumps
from backscroll.formats.sources.rows import as_array, as_object, as_text, without
from backscroll.vocab.part import Json

#: Calls that the sender answers, and the kind of item with the answer.
CALLS: Final = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "local_shell_call": "local_shell_call_output",
    "shell_call": "shell_call_output",
    "apply_patch_call": "apply_patch_call_output",
    "computer_call": "computer_call_output",
}
OUTPUTS: Final = {output: call for call, output in CALLS.items()}
#: Other items that a model makes by itself.
_MADE: Final = {
    "reasoning", "web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call", "mcp_call",
    "mcp_list_tools", "mcp_approval_request", "tool_search_call", "compaction",
}  # fmt: skip
_ROLES: Final = ("user", "assistant", "system", "developer")
_ALIASES: Final = {"human": "user", "ai": "assistant", "model": "assistant", "bot": "assistant"}
_PREFIXES: Final = {"message": "msg", "function_call": "fc", "reasoning": "rs", "custom_tool_call": "ctc"}
_TEXTS: Final = ("text", "input_text", "output_text", "summary_text", "reasoning_text")
_MEDIA: Final = ("input_image", "input_file", "input_audio")
#: Parts of other wires; any other unknown part may be a newer part of this one.
_FOREIGN: Final = {
    "tool_use",
    "tool_result",
    "thinking",
    "redacted_thinking",
    "image",
    "document",
    "image_url",
    "file",
}
_LONGEST_NAME: Final = 128


def kind_of(item: Mapping[str, Json]) -> str:
    """Return the kind of an item; a message need not state it."""
    return as_text(item.get("type")) or ("message" if "role" in item else "")


def call_id(item: Mapping[str, Json]) -> str:
    """Return the id by which calls and outputs are paired."""
    return as_text(item.get("call_id")) or as_text(item.get("id"))


def is_made(item: Mapping[str, Json]) -> bool:
    """Return True for what a model made."""
    kind = kind_of(item)
    return kind in CALLS or kind in _MADE or (kind == "message" and item.get("role") == "assistant")


def shape_entry(draft: PromptDraft, entry: DraftMessage) -> DraftMessage | None:
    """Return the entry as a valid item; the same object if it is valid; None if nothing remains of it."""
    entry = _as_item(draft, entry)
    item = as_object(entry.message)
    if item is None:
        return None
    kind = kind_of(item)
    if is_made(item) and is_aborted(item):
        draft.note(
            "V6", draft.at(entry), "a reply that did not come to its end", "it was removed with its calls"
        )
        draft.aborted |= {call_id(item)} - {""} if kind in CALLS else set()
        return DraftMessage(
            None, entry.origins
        )  # the reasoning before it is dropped as well: see `responses`
    if kind == "message":
        return _message(draft, entry, item)
    entry, item = _drop_foreign_id(draft, entry, item, kind)
    if kind in CALLS:
        return _call(draft, entry, item, kind)
    if kind in OUTPUTS:
        return _output(draft, entry, item, kind)
    if kind == "reasoning":
        return _reasoning(draft, entry, item)
    if kind == "compaction" and not as_text(item.get("encrypted_content")):
        draft.note("R7", draft.at(entry), "a compaction without what it holds", "it was removed")
        return None
    return entry


def _as_item(draft: PromptDraft, entry: DraftMessage) -> DraftMessage:
    item = as_object(entry.message)
    if not item:
        return no_message(draft, entry)
    kind, role = item.get("type"), item.get("role")
    if isinstance(kind, str) and kind and kind != "message":
        return entry
    if isinstance(role, str) and role in _ROLES and ("type" not in item or kind == "message"):
        return entry
    if isinstance(role, str) and role == "tool":
        draft.note(
            "S1", draft.at(entry), "a message with a role that this wire does not know", "it became an output"
        )
        output = words_of(item.get("content"))
        return DraftMessage(
            {"type": "function_call_output", "call_id": as_text(item.get("tool_call_id")), "output": output},
            entry.origins,
        )
    wanted = role if isinstance(role, str) and role in _ROLES else _ALIASES.get(as_text(role).lower(), "user")
    draft.note(
        "S1",
        draft.at(entry),
        "a message with a role that this wire does not know",
        f"the role is now {wanted}",
    )
    rest = without(item, "role", "type")
    return DraftMessage(
        {"role": wanted, "content": item["content"] if "content" in item else dumps(rest)}, entry.origins
    )


def _drop_foreign_id(
    draft: PromptDraft, entry: DraftMessage, item: dict[str, Json], kind: str
) -> tuple[DraftMessage, dict[str, Json]]:
    """Drop an id that the service did not create: it refuses unknown prefixes and accepts items without an id."""
    prefix = _PREFIXES.get(kind)
    if prefix is None or "id" not in item or as_text(item["id"]).startswith(prefix):
        return entry, item
    if item["id"] is not None:
        draft.note("S3", draft.at(entry), "an item id that the service did not make", "the id was removed")
    else:
        draft.note("S3", draft.at(entry), "an empty item id", "the id was removed")
    given = as_text(item["id"])
    rest = without(item, "id")
    if kind in CALLS and not as_text(item.get("call_id")) and given:
        rest["call_id"] = given
    return DraftMessage(rest, entry.origins), rest


# -- messages --------------------------------------------------------------------------------------------------


def _message(draft: PromptDraft, entry: DraftMessage, item: dict[str, Json]) -> DraftMessage | None:
    entry, item = _drop_foreign_id(draft, entry, item, "message")
    content = _content(draft, draft.at(entry, ".content"), item.get("content"), as_text(item["role"]))
    if content is None:
        draft.note("V4", draft.at(entry), "a message without content", "it was removed")
        return None
    if "content" in item and content is item["content"]:
        return entry
    return DraftMessage({**item, "content": content}, entry.origins)


def _content(draft: PromptDraft, where: str, content: Json, role: str) -> Json:
    return with_parts(draft, where, content, lambda item: _part(item, role))


def _part(item: Json, role: str) -> Json:
    data = as_object(item)
    text_kind = "output_text" if role == "assistant" else "input_text"
    if data is None:
        return None if is_empty(item) else {"type": text_kind, "text": words_of(item)}
    kind = data.get("type")
    if kind in _TEXTS:
        text = data.get("text")
        if is_empty(text):
            return None
        right = kind == text_kind and isinstance(text, str)
        return item if right else {"type": text_kind, "text": words_of(text)}
    if kind == "refusal":
        right = role == "assistant" and as_text(data.get("refusal"))
        return item if right else _as_text(data, "refusal", text_kind)
    if kind in _MEDIA and role == "assistant":
        return {"type": text_kind, "text": f"[{as_text(kind).removeprefix('input_')}]"}
    if kind == "image_url" and role != "assistant":
        address = as_text((as_object(data.get("image_url")) or {}).get("url")) or as_text(
            data.get("image_url")
        )
        return (
            {"type": "input_image", "image_url": address}
            if address
            else {"type": text_kind, "text": "[image]"}
        )
    if not isinstance(kind, str) or not kind or kind in _FOREIGN:
        return _as_text(data, "text", text_kind)
    return item


def _as_text(data: Mapping[str, Json], key: str, text_kind: str) -> Json:
    rest = without(data, "type")
    if is_empty(data.get(key)):
        return None if is_empty(without(rest, key)) else {"type": text_kind, "text": dumps(rest)}
    return {"type": text_kind, "text": words_of(data[key])}


# -- calls, outputs, reasoning ---------------------------------------------------------------------------------


def _call(draft: PromptDraft, entry: DraftMessage, item: dict[str, Json], kind: str) -> DraftMessage | None:
    out, where = dict(item), draft.at(entry)
    if kind in ("function_call", "custom_tool_call"):
        name, said = item.get("name"), "arguments" if kind == "function_call" else "input"
        if not isinstance(name, str) or not name:
            draft.note("S3", where, "a call that names no tool", "it was removed")
            return None
        if not is_tool_name(name, _LONGEST_NAME):
            draft.note(
                "S3", where, "a tool's name with letters that the wire does not allow", "the name was changed"
            )
            out["name"] = tool_name(name)
        if not isinstance(item.get(said), str):
            draft.note("S3", where, "arguments that are not text", "they were written as JSON text")
            default = "{}" if kind == "function_call" else ""
            out[said] = dumps(item[said]) if item.get(said) is not None else default
    if not as_text(item.get("call_id")) and not (kind == "local_shell_call" and call_id(item)):
        draft.note("S3", where, "a call without an id", "it got one")
        out["call_id"] = f"call_{mint_digits(kind, dumps(without(out, 'call_id')))[:24]}"
    return entry if out == item else DraftMessage(out, entry.origins)


def _output(draft: PromptDraft, entry: DraftMessage, item: dict[str, Json], kind: str) -> DraftMessage:
    output = item.get("output")
    if kind not in ("function_call_output", "custom_tool_call_output", "local_shell_call_output"):
        return entry  # their content is up to the vendor
    if isinstance(output, str):
        return entry
    if as_array(output) is None:
        draft.note("S2", draft.at(entry), "an output that is neither text nor a list", "it became text")
        return DraftMessage({**item, "output": words_of(output)}, entry.origins)
    mended = _content(draft, draft.at(entry, ".output"), output, "user")
    return entry if mended is output else DraftMessage({**item, "output": mended or ""}, entry.origins)


def _reasoning(draft: PromptDraft, entry: DraftMessage, item: dict[str, Json]) -> DraftMessage:
    summary = as_array(item.get("summary"))
    if summary is not None and all(as_object(part) is not None for part in summary):
        return entry
    draft.note("R4", draft.at(entry), "reasoning without a list of summaries", "it got one")
    texts = [item["summary"]] if as_text(item.get("summary")) else []
    parts = [{"type": "summary_text", "text": text} for text in texts]
    return DraftMessage(
        {**item, "summary": [p for p in summary or [] if as_object(p) is not None] or parts}, entry.origins
    )
