"""Convert one message of a claude.ai export.

Owns: what each block of a message means. Text, thinking, tool calls and their results become the parts they are; the text
extracted from an attachment is a part of its own; unknown blocks are kept verbatim. Other fields of the message stay in
`metadata["claude-ai"]`, other fields of a block in its `extra`. Nothing is dropped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from backscroll.formats.sources.json_text import dumps
from backscroll.formats.sources.media import from_base64
from backscroll.formats.sources.media_type import UNTOLD, media_type
from backscroll.formats.sources.rows import as_array, as_object, as_text, under
from backscroll.vocab.message import Content, Role
from backscroll.vocab.part import Json, Media, Opaque, Part, Reasoning, Text, ToolCall, ToolResult

VENDOR = "claude-ai"
_ROLES: dict[str, Role] = {
    "human": "user",
    "user": "user",
    "assistant": "assistant",
    "system": "system",
    "tool": "tool",
}


def role_of(message: Mapping[str, Json]) -> Role:
    """Return the role; an unknown one becomes `system`."""
    return _ROLES.get(as_text(message.get("sender")).lower(), "system")


def content_of(message: Mapping[str, Json], id: str) -> Content:
    """Return the content of a message, with its other fields as metadata."""
    reader = _BlockReader(id)
    listed = message.get("content")
    blocks = as_array(listed)
    parts: list[Part] = [
        part for block in ([listed] if blocks is None else blocks) for part in reader.part(block)
    ]
    facts = {key: value for key, value in message.items() if key != "content" and value is not None}
    words = [part.text for part in parts if isinstance(part, Text)]
    text = as_text(message.get("text"))
    if not "".join(words).strip() and text:
        parts.insert(0, Text(text))
        del facts["text"]
    elif "".join("".join(words).split()) == "".join(text.split()):
        facts.pop("text", None)  # repeats the same text
    parts += _read_attachments(message)
    if as_array(facts.get("attachments")):
        facts["attachments"] = [_without_text(each) for each in as_array(facts["attachments"]) or []]
    return Content(tuple(parts) or (Text(""),), None, under(VENDOR, facts))


def _without_text(attachment: Json) -> Json:
    known = as_object(attachment)
    return _rest(known, "extracted_content") if known is not None else attachment


def _rest(value: Mapping[str, Json], *used: str) -> dict[str, Json]:
    return {key: fact for key, fact in value.items() if key not in used and fact is not None}


def _read_attachments(message: Mapping[str, Json]) -> Iterator[Part]:
    """Yield attachments with the text that was read from them, and files, each once."""
    for value in as_array(message.get("attachments")) or []:
        attachment = as_object(value) or {}
        name, facts = as_text(attachment.get("file_name")), _rest(attachment, "extracted_content")
        if text := as_text(attachment.get("extracted_content")):
            yield Text(text, under(VENDOR, {"attachment": facts}))
        elif facts:
            kind = media_type(as_text(attachment.get("file_type")), name)
            yield Media(kind, name=name or None, extra=under(VENDOR, {"attachment": facts}))
    met: list[Json] = []
    for key in ("files", "files_v2"):
        for value in as_array(message.get(key)) or []:
            file = as_object(value) or {"file_name": value}
            identity = file.get("file_uuid") or file.get("uuid") or file.get("file_name")
            if identity not in met:
                met.append(identity)
                yield _file(file)


def _file(file: Mapping[str, Json]) -> Media:
    name, kind = as_text(file.get("file_name")), as_text(file.get("file_kind"))
    told = media_type(as_text(file.get("file_type")), name)
    if told == UNTOLD and kind == "image":
        told = "image/*"
    url = as_text(file.get("preview_url")) or as_text(file.get("url"))
    return Media(told, url=url or None, name=name or None, extra=under(VENDOR, {"file": dict(file)}))


class _BlockReader:
    """Turns blocks into parts; remembers open calls, because exports often leave out the ids that tie results to them."""

    def __init__(self, message: str) -> None:
        self._message = message
        self._open: list[ToolCall] = []
        self._calls = 0

    def part(self, value: Json) -> Iterator[Part]:
        """Yield the part of a block."""
        block = as_object(value)
        if block is None:
            if value is not None:
                yield Text(value) if isinstance(value, str) else Opaque(VENDOR, "block", dumps(value))
            return
        match block.get("type"):
            case "text" if isinstance(block.get("text"), str):
                yield Text(block["text"], under(VENDOR, _rest(block, "type", "text")))
            case "thinking" if isinstance(block.get("thinking"), str):
                signature = block.get("signature")
                used = ("type", "thinking", *(("signature",) if isinstance(signature, str) else ()))
                known = signature if isinstance(signature, str) else None
                yield Reasoning(block["thinking"], known, under(VENDOR, _rest(block, *used)))
            case "tool_use":
                yield self._call(block)
            case "tool_result":
                yield self._result(block)
            case "image" if (image := _image(block)) is not None:
                yield image
            case kind:
                yield Opaque(VENDOR, as_text(kind) or "block", dumps(block))

    def _call(self, block: Mapping[str, Json]) -> ToolCall:
        self._calls += 1
        id = as_text(block.get("id")) or f"{self._message}/{self._calls}"
        extra = under(VENDOR, _rest(block, "type", "id", "name", "input"))
        call = ToolCall(id, as_text(block.get("name")), block.get("input"), extra)
        self._open.append(call)
        return call

    def _result(self, block: Mapping[str, Json]) -> ToolResult:
        name = as_text(block.get("name"))
        return ToolResult(
            self._find_answered_call(as_text(block.get("tool_use_id")), name),
            tuple(_parse_tool_output(block.get("content"))),
            block.get("is_error") is True,
            name or None,
            under(VENDOR, _rest(block, "type", "tool_use_id", "content", "is_error", "name")),
        )

    def _find_answered_call(self, id: str, name: str) -> str:
        """Return the call that a result belongs to: by its id, else the oldest open one of that name, else the oldest."""
        by_name = [call for call in self._open if call.name == name] or self._open
        call = next((call for call in (self._open if id else by_name) if not id or call.id == id), None)
        if call is not None:
            self._open.remove(call)
        return id or (call.id if call is not None else "")


def _parse_tool_output(content: Json) -> Iterator[Text | Media | Opaque]:
    """Yield the output of a tool."""
    values: Sequence[Json] = as_array(content) or ([] if content is None or content == [] else [content])
    for value in values:
        item = as_object(value)
        if isinstance(value, str):
            yield Text(value)
        elif item is None:
            yield Opaque(VENDOR, "result", dumps(value))
        elif isinstance(item.get("text"), str):
            used = ("text", "type") if item.get("type") == "text" else ("text",)
            yield Text(item["text"], under(VENDOR, _rest(item, *used)))
        elif (image := _image(item)) is not None:
            yield image
        else:
            yield Opaque(VENDOR, as_text(item.get("type")) or "result", dumps(item))


def _image(block: Mapping[str, Json]) -> Media | None:
    """Return a picture whose bytes are in the block, or None."""
    source = as_object(block.get("source")) or {}
    data = from_base64(as_text(source.get("data")))
    if not data:
        return None
    facts = {**_rest(block, "type", "source"), **_rest(source, "data", "media_type", "type")}
    kind = media_type(as_text(source.get("media_type")), "", data)
    return Media(kind, data=data, extra=under(VENDOR, facts))
