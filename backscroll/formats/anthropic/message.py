"""Convert Anthropic messages to ours and back to the same JSON value.

Owns: the plain functions that programs use. One wire message may be several of ours: each `tool_result` of a user message is
a message with the role `tool`, the text beside them a user message; `metadata["anthropic"]["joins"]` says that they belong
to the one before, and `messages_to_anthropic` joins them again. The other keys of that metadata: `content` (its original
form), `fields` (unknown keys), `place: system` (the top-level system prompt). Does not judge validity.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from backscroll.errors import FormatError
from backscroll.formats.anthropic.parts import (
    VENDOR,
    BlockWriter,
    describe_content_shape,
    opaque,
    part_from,
    parts_from,
)
from backscroll.formats.losses import Note, quiet
from backscroll.formats.shape import Blobs
from backscroll.formats.sources.json_text import NotJson, object_in, try_parse
from backscroll.formats.sources.media import no_blobs
from backscroll.formats.sources.rows import as_array, as_object, as_text, own, same, without
from backscroll.vocab.foreign import ForeignMessage
from backscroll.vocab.message import Content, Role
from backscroll.vocab.part import Json, Opaque, Part, Text

ROLES: Mapping[str, Role] = {"user": "user", "assistant": "assistant", "system": "system"}


class RoleMessage(Protocol):
    """A message to write: ours, foreign, or any object with a role and a content."""

    @property
    def role(self) -> Role:
        """The role of the sender."""
        ...

    @property
    def content(self) -> Content:
        """The content of the message."""
        ...


class AnthropicPrompt(NamedTuple):
    """The two parts of a request that contain text; `system` is None where there is none."""

    system: Json
    messages: list[dict[str, Json]]


# -- from the wire ---------------------------------------------------------------------------------------------


def messages_from_anthropic(messages: Sequence[Json], system: Json = None) -> list[ForeignMessage]:
    """Return wire messages, and the system prompt if any, as ours. Raises FormatError for an entry that is not a message."""
    out = [ForeignMessage("system", system_from_anthropic(system))] if system is not None else []
    for number, message in enumerate(messages):
        data = as_object(message)
        if data is None or as_text(data.get("role")) not in ROLES:
            raise FormatError(f"entry {number} is not a message", hint=f"known roles: {', '.join(ROLES)}")
        out += [ForeignMessage(role, content) for role, content in message_from_anthropic(data)]
    return out


def system_from_anthropic(system: Json) -> Content:
    """Return the top-level system prompt: a string or a list of blocks."""
    meta = {"place": "system", "content": describe_content_shape(system)}
    parts = parts_from(system)
    content = Content(parts, metadata={VENDOR: meta})
    if same(_system([(meta["content"], parts)], no_blobs, quiet), system):
        return content
    return Content((opaque("system", system),), metadata={VENDOR: {"place": "system"}})


def message_from_anthropic(data: Mapping[str, Json]) -> list[tuple[Role, Content]]:
    """Return one wire message with a known role as one or several of ours."""
    meta: dict[str, Json] = {"content": describe_content_shape(data.get("content"), "content" in data)}
    fields = without(data, "role", "content")
    meta |= {"fields": fields} if fields else {}
    out: list[tuple[Role, Content]] = []
    for role, parts in pieces(ROLES[data["role"]], data.get("content")):
        out.append((role, Content(parts, metadata={VENDOR: {"joins": True} if out else meta})))
    back = list(write_messages((_RoleContent(role, content) for role, content in out), no_blobs, quiet))
    if len(back) == 1 and same(back[0], data):
        return out
    return [(ROLES[data["role"]], Content((opaque("message", dict(data)),), metadata={VENDOR: {}}))]


class _RoleContent(NamedTuple):
    role: Role
    content: Content


def pieces(role: Role, content: Json) -> list[tuple[Role, tuple[Part, ...]]]:
    """Return the parts of a wire content grouped by actual sender: in a user message every `tool_result` is a tool's."""
    blocks = as_array(content)
    if blocks is None or role != "user" or not any(_is_result(block) for block in blocks):
        return [(role, parts_from(content))]
    out: list[tuple[Role, tuple[Part, ...]]] = []
    for block in blocks:
        part = part_from(block)
        if _is_result(block):
            out.append(("tool", (part,)))
        elif out and out[-1][0] == "user":
            out[-1] = ("user", (*out[-1][1], part))
        else:
            out.append(("user", (part,)))
    return out


def _is_result(block: Json) -> bool:
    return (as_object(block) or {}).get("type") == "tool_result"


# -- to the wire -----------------------------------------------------------------------------------------------


def messages_to_anthropic(
    messages: Iterable[RoleMessage], blobs: Blobs, note: Note = quiet
) -> AnthropicPrompt:
    """Return the system prompt and wire messages: split messages are joined again, results of one step are adjacent."""
    joiner = Joiner(blobs, note)
    out = [wire for message in messages for wire in joiner.add(message)]
    out += joiner.end()
    return AnthropicPrompt(joiner.system, out)


def write_messages(messages: Iterable[RoleMessage], blobs: Blobs, note: Note) -> Iterator[dict[str, Json]]:
    """Yield wire messages without a top-level system prompt."""
    joiner = Joiner(blobs, note, top_level=False)
    for message in messages:
        yield from joiner.add(message)
    yield from joiner.end()


class Joiner:
    """Joins messages into wire messages one by one. `system` is complete once the first wire message is yielded."""

    def __init__(self, blobs: Blobs, note: Note, *, top_level: bool = True) -> None:
        self._blobs, self._note, self._top_level = blobs, note, top_level
        self._prompts: list[tuple[str, tuple[Part, ...]]] = []
        self._open: dict[str, Json] | None = None  # may still grow
        self._growing = ""  # our role, where the open message is from elsewhere and further ones may join it

    @property
    def system(self) -> Json:
        """The top-level system prompt so far."""
        return _system(self._prompts, self._blobs, self._note) if self._prompts else None

    def add(self, message: RoleMessage) -> Iterator[dict[str, Json]]:
        """Yield the wire messages that are complete now."""
        meta = own(message.content, VENDOR)
        foreign = VENDOR not in message.content.metadata
        if message.role == "system" and (foreign or meta.get("place") == "system"):
            if self._top_level:
                self._prompts.append((as_text(meta.get("content")), message.content.parts))
                return
            self._note("a system message after the beginning is written as the user's")
        self._top_level = False
        wire = self._wire(message, meta, foreign)
        if wire is None:
            return
        blocks = as_array(wire.get("content"))
        before = as_array(self._open.get("content")) if self._open is not None else None
        joins = bool(meta.get("joins")) or (foreign and message.role == self._growing)
        if (
            joins
            and before is not None
            and blocks is not None
            and wire["role"] == (self._open or {}).get("role")
        ):
            before.extend(blocks)
        else:
            yield from self.end()
            self._open = wire
        self._growing = message.role if foreign and _goes_on(wire) else ""

    def end(self) -> Iterator[dict[str, Json]]:
        """Yield the last wire message."""
        if self._open is not None:
            yield self._open
        self._open = None

    def _wire(self, message: RoleMessage, meta: Mapping[str, Json], foreign: bool) -> dict[str, Json] | None:
        parts = message.content.parts
        first = parts[0] if parts else None
        if isinstance(first, Opaque) and first.vendor == VENDOR and first.kind in ("message", "system"):
            whole = object_in(first.raw) if first.kind == "message" else None
            if whole is not None or first.kind == "system":
                return whole
        blocks = BlockWriter(self._blobs, self._note, foreign)
        how = as_text(meta.get("content")) or ("list" if meta.get("joins") or self._growing else "")
        out: dict[str, Json] = {"role": _wire_role(message.role, foreign or "place" in meta)}
        if parts or how != "absent":
            out["content"] = blocks.content(parts, how)
        if foreign and not out.get("content"):
            self._note("nothing is left of a message: left out")
            return None
        return out | (as_object(meta.get("fields")) or {})


def _goes_on(wire: Mapping[str, Json]) -> bool:
    """Return True if the next message may be the rest of this one: a result beside others, a reply in pieces."""
    blocks = as_array(wire.get("content"))
    last = as_object(blocks[-1]) if blocks else None
    return last is not None and last.get("type") in (
        "tool_result",
        "thinking",
        "redacted_thinking",
        "tool_use",
    )


def _wire_role(role: Role, foreign: bool) -> str:
    return "user" if role == "tool" or (role == "system" and foreign) else role


def _system(prompts: Sequence[tuple[str, tuple[Part, ...]]], blobs: Blobs, note: Note) -> Json:
    if len(prompts) == 1:
        how, parts = prompts[0]
        first = parts[0] if parts else None
        if isinstance(first, Opaque) and first.vendor == VENDOR and first.kind == "system":
            whole = try_parse(first.raw)
            if not isinstance(whole, NotJson):
                return whole
        return BlockWriter(blobs, note, not how).content(parts, how)
    blocks = BlockWriter(blobs, note, foreign=False)
    return [block for _, parts in prompts for block in blocks.blocks([p for p in parts if p != Text("")])]
