"""Convert one message of a Gemini CLI session.

Owns: the content of a record. Thoughts become reasoning; a record holds its tool calls together with their results, so it becomes
the reply and, after it, a message with the results. Notes of the program are hidden system messages. Nothing is dropped:
other fields stay in `metadata["gemini-cli"]`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from backscroll.formats.sources.account_exports import moment
from backscroll.formats.sources.json_text import dumps
from backscroll.formats.sources.media import from_base64
from backscroll.formats.sources.rows import as_array, as_object, as_text, under
from backscroll.vocab.foreign import ForeignMessage
from backscroll.vocab.message import Content, Role
from backscroll.vocab.part import Json, Media, Opaque, Part, Reasoning, Text, ToolCall, ToolResult, text_of

VENDOR = "gemini-cli"
_FAILED = ("error", "cancelled")


def role_of(message: Mapping[str, Json]) -> Role:
    """Return the role: the user's, the model's, or `system` for the program's own notes."""
    kind = message.get("type")
    return "user" if kind == "user" else "assistant" if kind in ("gemini", "model", "assistant") else "system"


def words_of(message: Mapping[str, Json]) -> str:
    """Return the text of a message."""
    return text_of(list(_parts(message.get("content"))))


def messages_of(
    message: Mapping[str, Json], id: str, leaves_from: str | None, line: int
) -> Iterator[ForeignMessage]:
    """Yield the message and the message with the results of its calls."""
    calls = [
        call for value in as_array(message.get("toolCalls")) or [] if (call := as_object(value)) is not None
    ]
    thoughts = [_parse_thought(value) for value in as_array(message.get("thoughts")) or []]
    said = [*thoughts, *_parts(message.get("content")), *map(_call, calls)]
    used = ("id", "timestamp", "content", "thoughts", "toolCalls")
    facts = {key: value for key, value in message.items() if key not in used and value is not None}
    role, at = role_of(message), moment(message.get("timestamp"))
    content = Content(tuple(said) or (Text(""),), None, under(VENDOR, facts))
    minted = id.startswith("#")
    own = None if minted else id
    yield ForeignMessage(role, content, at, own, leaves_from, hidden=role == "system", line=line)
    results = tuple(_result(call) for call in calls if call.get("result") is not None)
    if results:
        ended = moment(calls[-1].get("timestamp")) or at
        yield ForeignMessage("tool", Content(results), ended, None if minted else f"{id}/results", line=line)


def _parse_thought(value: Json) -> Part:
    thought = as_object(value)
    if thought is None:
        return Reasoning(value) if isinstance(value, str) else Opaque(VENDOR, "thought", dumps(value))
    words = [as_text(thought.get(key)) for key in ("subject", "description")]
    return Reasoning("\n\n".join(word for word in words if word), extra=under(VENDOR, thought))


def _call(call: Mapping[str, Json]) -> ToolCall:
    extra = {key: value for key, value in call.items() if key not in ("id", "name", "args", "result")}
    return ToolCall(
        as_text(call.get("id")), as_text(call.get("name")), call.get("args"), under(VENDOR, extra)
    )


def _result(call: Mapping[str, Json]) -> ToolResult:
    inner = tuple(part for part in _parts(call.get("result")) if isinstance(part, Text | Media | Opaque))
    failed = call.get("status") in _FAILED
    return ToolResult(as_text(call.get("id")), inner, failed, as_text(call.get("name")) or None)


def _parts(value: Json) -> Iterator[Part]:
    """Yield a string, a part, or a list of either."""
    values = as_array(value)
    for each in [value] if values is None else values:
        if isinstance(each, str):
            if each:
                yield Text(each)
        elif (part := as_object(each)) is not None:
            yield _part(part)
        elif each is not None:
            yield Opaque(VENDOR, "part", dumps(each))


def _part(part: Mapping[str, Json]) -> Part:
    rest = {key: value for key, value in part.items() if key != "text"}
    if isinstance(part.get("text"), str):
        return (
            Reasoning(part["text"], extra=under(VENDOR, rest))
            if part.get("thought") is True
            else Text(part["text"], under(VENDOR, rest))
        )
    if (data := as_object(part.get("inlineData"))) is not None:
        raw = from_base64(as_text(data.get("data")))
        if raw is not None:
            facts = {key: value for key, value in data.items() if key not in ("data", "mimeType")}
            return Media(as_text(data.get("mimeType")), data=raw, extra=under(VENDOR, facts))
    if (file := as_object(part.get("fileData"))) is not None and isinstance(file.get("fileUri"), str):
        return Media(as_text(file.get("mimeType")), url=file["fileUri"], extra=under(VENDOR, dict(file)))
    if (call := as_object(part.get("functionCall"))) is not None:
        return _call(call)
    if (told := as_object(part.get("functionResponse"))) is not None:
        return _parse_tool_output(told)
    kind = next(iter(part), "part")
    return Opaque(VENDOR, kind, dumps(part))


def _parse_tool_output(response: Mapping[str, Json]) -> Text:
    """Return the output of a tool: its output or error if that is plain text, else the whole response."""
    inner = as_object(response.get("response")) or {}
    key = next((key for key in ("output", "error") if isinstance(inner.get(key), str)), "")
    if not key:
        return Text(dumps(response.get("response")), under(VENDOR, {"functionResponse": dict(response)}))
    rest = {**response, "response": {name: value for name, value in inner.items() if name != key}}
    return Text(inner[key], under(VENDOR, {"functionResponse": {**rest, "said": key}}))
