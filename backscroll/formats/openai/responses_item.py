"""Convert items of the OpenAI Responses wire to messages and back to the same JSON value.

Owns: the plain functions that programs use. One item is one message; its text goes into parts, the rest is in
`metadata["openai-responses"]["item"]`. The instructions of a request are a system message with `place: instructions`.
Rollouts of Codex contain the same items, so `codex/item` reads them. Does not judge validity.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from backscroll.errors import FormatError
from backscroll.formats.codex.item import contents, is_item, put_back, said_in, taken_out
from backscroll.formats.losses import Note, quiet
from backscroll.formats.shape import Blobs
from backscroll.formats.sources.json_text import dumps
from backscroll.formats.sources.media import no_blobs
from backscroll.formats.sources.rows import as_object, as_text, own, same, without
from backscroll.vocab.foreign import ForeignMessage
from backscroll.vocab.message import Content, Role
from backscroll.vocab.part import Json, Media, Opaque, Part, Reasoning, Text, ToolCall, ToolResult

VENDOR = "openai-responses"


class ResponsesPrompt(NamedTuple):
    """The two parts of a request that contain text; `instructions` is None where there are none."""

    instructions: str | None
    input: list[dict[str, Json]]


# -- from the wire ---------------------------------------------------------------------------------------------


def messages_from_responses(
    items: Sequence[Json] | str, instructions: str | None = None
) -> list[ForeignMessage]:
    """Return items, and the instructions if any, as ours. Raises FormatError for an entry that is not an item."""
    out = [ForeignMessage("system", instructions_from(instructions))] if instructions is not None else []
    for number, item in enumerate([{"role": "user", "content": items}] if isinstance(items, str) else items):
        data = as_object(item)
        said = message_from_item(data) if data is not None else None
        if said is None:
            raise FormatError(
                f"entry {number} is not an item", hint="expected messages, calls, outputs and reasoning"
            )
        out.append(ForeignMessage(*said))
    return out


def instructions_from(text: str) -> Content:
    """Return the instructions of a request."""
    return Content((Text(text),) if text else (), metadata={VENDOR: {"place": "instructions"}})


def message_from_item(item: Mapping[str, Json]) -> tuple[Role, Content] | None:
    """Return one item as a message; None if it is not one, or would not survive a round trip."""
    bare = "type" not in item and "role" in item
    payload = {"type": "message", **item} if bare else dict(item)
    if not is_item(payload):
        return None
    said = said_in(payload)
    if said is None or not same(put_back(taken_out(payload), said.parts, no_blobs, quiet), payload):
        return None
    facts: dict[str, Json] = {"item": taken_out(payload)}
    facts |= {"bare": True} if bare else {}
    return said.role, Content(said.parts, said.author, {VENDOR: facts})


# -- to the wire -----------------------------------------------------------------------------------------------


def messages_to_responses(
    messages: Iterable[ForeignMessage], blobs: Blobs, note: Note = quiet
) -> ResponsesPrompt:
    """Return the instructions and the items of messages."""
    instructions: str | None = None
    out: list[dict[str, Json]] = []
    for message in messages:
        if instructions is None and not out and is_instructions(message):
            instructions = message.content.text
        else:
            out += items_of(message.role, message.content, blobs, note)
    return ResponsesPrompt(instructions, out)


def is_instructions(message: ForeignMessage) -> bool:
    """Return True for a system message that was the instructions, or comes from another format."""
    meta = own(message.content, VENDOR)
    return message.role == "system" and (VENDOR not in message.content.metadata or "place" in meta)


def items_of(role: Role, content: Content, blobs: Blobs, note: Note) -> list[dict[str, Json]]:
    """Return the items of one message: the original, or new ones for a message from another format."""
    meta = own(content, VENDOR)
    skeleton = as_object(meta.get("item"))
    payload = put_back(skeleton, content.parts, blobs, note) if skeleton is not None else None
    if payload is not None:
        return [without(payload, "type") if meta.get("bare") is True else payload]
    return list(_new(role, content, blobs, note))


def _new(role: Role, content: Content, blobs: Blobs, note: Note) -> Iterator[dict[str, Json]]:
    words: list[Part] = []
    for part in content.parts:
        if isinstance(part, Text | Media | Opaque):
            words.append(part)
            continue
        yield from _words(role, words, blobs, note)
        words = []
        yield from _write_part(part, blobs, note)
    yield from _words(role, words, blobs, note)


def _words(role: Role, parts: list[Part], blobs: Blobs, note: Note) -> Iterator[dict[str, Json]]:
    who = "developer" if role == "system" else "user" if role == "tool" else role
    said = contents([part for part in parts if part != Text("")], who, False, blobs, note)
    if said:
        yield {"type": "message", "role": who, "content": said}


def _write_part(part: Part, blobs: Blobs, note: Note) -> Iterator[dict[str, Json]]:
    match part:
        case Reasoning():
            sealed = as_text((as_object(part.extra.get("codex")) or {}).get("encrypted_content"))
            if sealed:
                yield {"type": "reasoning", "summary": [], "encrypted_content": sealed}
            else:
                note("a reasoning without this vendor's proof left out")
        case ToolCall():
            asked = part.arguments if isinstance(part.arguments, str) else dumps(part.arguments)
            yield {"type": "function_call", "call_id": part.id, "name": part.name, "arguments": asked}
        case ToolResult():
            if part.is_error:
                note("the wire cannot say that a tool failed, only its words can")
            said = contents(part.content, "user", True, blobs, note) or ""
            yield {"type": "function_call_output", "call_id": part.call_id, "output": said}
        case _:
            pass
