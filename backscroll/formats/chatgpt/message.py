"""Convert one node of a ChatGPT conversation to a message.

Owns: what each kind of content means. Text stays text, thoughts become reasoning, a message to a tool a call, a tool's
message a result, file pointers media; unknown content is kept verbatim. The rest of the node stays in `metadata["chatgpt"]`.
Nothing is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from backscroll.formats.sources.account_exports import ExportFiles, bytes_of, moment
from backscroll.formats.sources.json_text import dumps
from backscroll.formats.sources.media_type import UNTOLD, media_type
from backscroll.formats.sources.rows import as_array, as_object, as_text, under
from backscroll.vocab.foreign import Problem
from backscroll.vocab.message import ROLES, Content, Role
from backscroll.vocab.part import Json, Media, Opaque, Part, Reasoning, Text, ToolCall, ToolResult

VENDOR = "chatgpt"
_POINTER = re.compile(r"(?:file-service|sediment)://(file[-_][A-Za-z0-9]+)")
_KINDS = {"image": "image/*", "frames": "image/*", "audio": "audio/*", "video": "video/*"}
_POINTED = ("audio_asset_pointer", "video_container_asset_pointer", "frames_asset_pointers")

#: Kinds of content whose text is under one or two keys.
_WORDS = {
    "code": ("text",),
    "execution_output": ("text",),
    "system_error": ("text",),
    "tether_quote": ("text",),
    "tether_browsing_display": ("result", "summary"),
    "user_editable_context": ("user_profile", "user_instructions"),
    "model_editable_context": ("model_set_context",),
}


@dataclass(frozen=True, slots=True)
class ChatGPTMessage:
    """A node's message, parsed."""

    id: str
    role: Role
    content: Content
    at: str | None
    hidden: bool
    problems: tuple[Problem, ...] = ()


def role_of(message: Mapping[str, Json]) -> Role:
    """Return the role; an unknown one becomes `system`."""
    role = as_text((as_object(message.get("author")) or {}).get("role"))
    return role if role in ROLES else "system"


def tool_called(message: Mapping[str, Json]) -> str:
    """Return the tool that a message is addressed to; empty if it is for the user."""
    recipient = as_text(message.get("recipient")) or "all"
    return recipient if role_of(message) == "assistant" and recipient not in ("all", "assistant") else ""


def tool_speaking(message: Mapping[str, Json]) -> str:
    """Return the name of the tool whose message this is."""
    return as_text((as_object(message.get("author")) or {}).get("name"))


def understand(node: Mapping[str, Json], id: str, files: ExportFiles, answers: str = "") -> ChatGPTMessage:
    """Return the message of a node; `answers` is the id of the call that a tool's message answers."""
    message = as_object(node.get("message")) or {}
    facts = as_object(message.get("metadata")) or {}
    role, name = role_of(message), tool_speaking(message)
    reader = _ContentReader(files, as_array(facts.get("attachments")) or [])
    parts = [*reader.content(message.get("content")), *reader.attachments()]
    blank = all(isinstance(part, Text) and not part.text.strip() for part in parts)
    message_id = as_text(message.get("id")) or id
    if role == "tool":
        kind = (as_object(message.get("content")) or {}).get("content_type")
        inner = tuple(Text(p.text, p.extra) if isinstance(p, Reasoning) else p for p in parts)
        told = tuple(part for part in inner if isinstance(part, Text | Media | Opaque))
        parts = [ToolResult(answers, told, kind == "system_error", name or None)]
    elif tool := tool_called(message):
        words = [part for part in parts if not isinstance(part, Media)]
        media = [part for part in parts if isinstance(part, Media)]
        parts = [ToolCall(message_id, tool, _arguments(words, message.get("content"))), *media]
    return ChatGPTMessage(
        message_id,
        role,
        Content(tuple(parts) or (Text(""),), name if name and role != "tool" else None, _rest(node, reader)),
        moment(message.get("create_time")),
        hidden=facts.get("is_visually_hidden_from_conversation") is True
        or message.get("weight") == 0
        or (role == "system" and blank),
        problems=tuple(reader.problems),
    )


def _arguments(parts: Sequence[Part], content: Json) -> str:
    words = [part.text for part in parts if isinstance(part, Text)]
    return "\n".join(words) if len(words) == len(parts) else dumps(content)


def _rest(node: Mapping[str, Json], reader: _ContentReader) -> Mapping[str, Json]:
    """Return the fields of the node besides its text."""
    message = as_object(node.get("message")) or {}
    facts = {key: value for key, value in message.items() if key != "content" and value is not None}
    if reader.rest:
        facts["content"] = reader.rest
    more = {key: value for key, value in node.items() if key not in ("id", "message", "parent", "children")}
    if more:
        facts["node"] = more
    return under(VENDOR, facts)


class _ContentReader:
    """Turns a content into parts; records the files it refers to and the fields left over."""

    def __init__(self, files: ExportFiles, attachments: Sequence[Json]) -> None:
        self._files = files
        self._attached = [attached for value in attachments if (attached := as_object(value)) is not None]
        self._record_uses: set[str] = set()
        self.rest: dict[str, Json] = {}
        self.problems: list[Problem] = []

    def content(self, value: Json) -> list[Part]:
        """Return the parts of a message's content."""
        content = as_object(value)
        if content is None:
            return [] if value is None else [Opaque(VENDOR, "content", dumps(value))]
        kind = as_text(content.get("content_type"))
        if kind in ("text", "multimodal_text", ""):
            return self._of_parts(content)
        if kind in _WORDS:
            return self._of_words(content, _WORDS[kind])
        if kind == "thoughts":
            return self._thoughts(content)
        if kind == "reasoning_recap":
            self._keep(content, "content")
            return [Reasoning(as_text(content.get("content")))]
        words = [part for part in as_array(content.get("parts")) or [content.get("text")] if as_text(part)]
        return [*(Text(word) for word in words), Opaque(VENDOR, kind, dumps(content))]

    def _keep(self, content: Mapping[str, Json], *used: str) -> None:
        self.rest = {key: value for key, value in content.items() if key not in used and value is not None}
        if self.rest == {"content_type": "text"}:
            self.rest = {}

    def _of_parts(self, content: Mapping[str, Json]) -> list[Part]:
        listed = as_array(content.get("parts"))
        self._keep(content, "text" if listed is None else "parts")
        found = [part for value in listed or [content.get("text")] for part in self._part(value)]
        # Empty strings occur between pictures and in system messages; they carry no content.
        return [part for part in found if not (isinstance(part, Text) and not part.text)]

    def _of_words(self, content: Mapping[str, Json], keys: tuple[str, ...]) -> list[Part]:
        texts = [key for key in keys if isinstance(content.get(key), str)]
        self._keep(content, *texts)
        return [Text(content[key]) for key in texts if content[key]]

    def _thoughts(self, content: Mapping[str, Json]) -> list[Part]:
        self._keep(content, "thoughts")
        return [self._parse_thought(thought) for thought in as_array(content.get("thoughts")) or []]

    def _parse_thought(self, value: Json) -> Part:
        thought = as_object(value)
        if thought is None:
            return (
                Reasoning(as_text(value))
                if isinstance(value, str)
                else Opaque(VENDOR, "thought", dumps(value))
            )
        words = [as_text(thought.get(key)) for key in ("summary", "content")]
        return Reasoning("\n\n".join(word for word in words if word), extra=under(VENDOR, thought))

    def _part(self, value: Json) -> Iterator[Part]:
        if isinstance(value, str):
            yield Text(value)
            return
        part = as_object(value)
        if part is None:
            if value is not None:
                yield Opaque(VENDOR, "part", dumps(value))
            return
        kind = as_text(part.get("content_type"))
        if isinstance(part.get("asset_pointer"), str):
            yield self._resolve_pointer(part)
        elif any(key in part for key in _POINTED):
            yield from self._parse_recording(part)
        elif isinstance(part.get("text"), str):
            facts = {key: fact for key, fact in part.items() if key != "text"}
            yield Text(part["text"], under(VENDOR, facts))
        else:
            yield Opaque(VENDOR, kind or "part", dumps(part))

    def _parse_recording(self, part: Mapping[str, Json]) -> Iterator[Part]:
        """Yield a recorded piece of conversation: its audio, video and frames."""
        facts = {key: value for key, value in part.items() if key not in _POINTED}
        for key in _POINTED:
            value = part.get(key)
            for inner in as_array(value) or [value]:
                pointer = as_object(inner) or {"asset_pointer": inner}
                if isinstance(pointer.get("asset_pointer"), str):
                    yield self._resolve_pointer({"content_type": key, **pointer}, facts)
                    facts = {}
                elif inner is not None:
                    yield Opaque(VENDOR, key, dumps(inner))

    def _resolve_pointer(self, part: Mapping[str, Json], more: Mapping[str, Json] | None = None) -> Media:
        pointer = as_text(part.get("asset_pointer"))
        found = _POINTER.match(pointer)
        id = found[1] if found else ""
        self._record_uses.add(id)
        nothing: dict[str, Json] = {}
        attached = next((each for each in self._attached if id and each.get("id") == id), nothing)
        facts = {key: value for key, value in part.items() if value is not None}
        if more:
            facts["part"] = dict(more)
        kind = _KINDS.get(as_text(part.get("content_type")).partition("_")[0], "")
        said = as_text(part.get("mime_type")) or _said_type(attached)
        if not said and kind == "audio/*" and isinstance(part.get("format"), str):
            said = f"audio/{part['format']}"
        return self._media(id, as_text(attached.get("name")), said, pointer, kind, facts)

    def attachments(self) -> Iterator[Media]:
        """Yield files that were attached to the message and are not among its parts already."""
        for attached in self._attached:
            id, name = as_text(attached.get("id")), as_text(attached.get("name"))
            if (id or name) and id not in self._record_uses:
                pointer = f"file-service://{id}" if id else ""
                yield self._media(id, name, _said_type(attached), pointer, "", {})

    def _media(
        self, id: str, name: str, said: str, pointer: str, kind: str, facts: Mapping[str, Json]
    ) -> Media:
        found = self._files.find(id, name) if id else None
        data = bytes_of(found[1]) if found else None
        if found and data is None:
            self.problems.append(Problem(f"the attached file {found[1].path} cannot be read"))
        name = name or (found[0] if found else "")
        told = media_type(said, name, data or b"")
        return Media(
            kind if kind and told == UNTOLD else told,
            url=pointer or None,
            name=name or None,
            data=data,
            extra=under(VENDOR, facts),
        )


def _said_type(attached: Mapping[str, Json]) -> str:
    return as_text(attached.get("mime_type")) or as_text(attached.get("mimeType"))
