"""Requests in files: their wire, and the same request with a repaired prompt.

Owns: bodies of the three wires, bare lists of messages, entries of batch files. Not here: files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from backscroll.assemble.validity import RepairResult, check, repair
from backscroll.assemble.validity.models import claude
from backscroll.assemble.validity.rules import PromptFlaw
from backscroll.errors import FormatError
from backscroll.formats.sources.rows import as_array, as_object, as_text, without
from backscroll.vocab.part import Json
from backscroll.vocab.prompt import Wire, checked_wire

_BLOCKS: Final = {"tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use"}
_PARTS: Final = {"input_text", "output_text", "input_image", "input_file"}
_KEYS: Final[Mapping[Wire, tuple[str, str]]] = {
    "openai-chat": ("messages", ""),
    "openai-responses": ("input", "instructions"),
    "anthropic": ("messages", "system"),
}
_HINT: Final = "expected a list of messages, or a request with `messages` or `input`"


@dataclass(frozen=True, slots=True)
class RequestBody:
    """One prompt of a file. `wraps` are the keys under which a batch file stores the body."""

    wire: Wire
    messages: Sequence[Json] | str
    system: Json = None
    tools: Sequence[Json] | None = None
    model: str | None = None
    options: Mapping[str, Json] = field(default_factory=dict[str, Json])
    body: Mapping[str, Json] | None = None  # None: a bare list
    wraps: tuple[Mapping[str, Json], str] | None = None

    def flaws(self) -> list[PromptFlaw]:
        """Return every rule that the prompt breaks."""
        return check(
            self.messages,
            self.wire,
            system=self.system,
            tools=self.tools,
            model=self.model,
            options=self.options,
        )

    def repair_prompt(self) -> RepairResult:
        """Return the repaired prompt."""
        return repair(
            self.messages,
            self.wire,
            system=self.system,
            tools=self.tools,
            model=self.model,
            options=self.options,
        )

    def apply_repair(self) -> RequestBody:
        """Return the request with its prompt repaired by `repair_prompt`."""
        done = self.repair_prompt()
        return replace(
            self, messages=done.messages, system=done.system, tools=done.tools, options=done.options
        )

    def with_prompt(self, done: RepairResult) -> Json:
        """Return the request with another prompt, in its original form; unchanged if nothing was repaired."""
        if self.body is None:
            return done.messages
        if not done.changes:
            out = dict(self.body)
        else:
            key, beside = _KEYS[self.wire]
            gone = [name for name in self.options if name not in done.options]
            out = {name: value for name, value in self.body.items() if name not in gone}
            out[key] = done.messages
            if beside and (done.system is not None or beside in out):
                out[beside] = done.system
            if beside and done.system is None:
                out.pop(beside, None)
            if done.tools and "tools" in out:
                out["tools"] = list(done.tools)
        return out if self.wraps is None else {**self.wraps[0], self.wraps[1]: out}


def request_of(value: Json, wire: str | None = None, model: str | None = None) -> RequestBody:
    """Return the request in a JSON value. Raises FormatError if it has no prompt."""
    chosen = checked_wire(wire) if wire is not None else None
    items = as_array(value)
    if items is not None:
        return RequestBody(chosen or _wire_of(items, {}), items, model=model)
    body = as_object(value)
    if body is None:
        raise FormatError("this holds no prompt", hint=_HINT)
    for key in ("body", "params"):
        inner = as_object(body.get(key))
        if inner is not None and _messages(inner) is not None:
            found = request_of(inner, wire, model)
            return _wrap_request(found, body, key)
    messages = _messages(body)
    if messages is None:
        raise FormatError("this holds no prompt", hint=_HINT)
    found_wire = chosen or _wire_of([messages] if isinstance(messages, str) else messages, body)
    key, beside = _KEYS[found_wire]
    used = {"messages", "input", "output", "tools", "model", beside}
    tools = as_array(body.get("tools"))
    if tools is None:
        tools = []  # a request that sends none; only a bare list of messages leaves it open
    named = model or as_text(body.get("model")) or None
    options = {name: inner for name, inner in body.items() if name not in used}
    system = body.get(beside) if beside else None
    return RequestBody(found_wire, messages, system, tools, named, options, body)


def _wrap_request(found: RequestBody, outer: Mapping[str, Json], key: str) -> RequestBody:
    return RequestBody(
        found.wire, found.messages, found.system, found.tools, found.model, found.options, found.body,
        (without(outer, key), key),
    )  # fmt: skip


def _messages(body: Mapping[str, Json]) -> Sequence[Json] | str | None:
    for key in ("messages", "input"):
        found = body.get(key)
        if as_array(found) is not None or (key == "input" and isinstance(found, str)):
            return found
    return None


def _wire_of(messages: Sequence[Json], body: Mapping[str, Json]) -> Wire:
    """Return the wire indicated by the fields of a request; Chat if nothing indicates one."""
    kinds = set(_kinds(messages))
    tools = [tool for tool in map(as_object, as_array(body.get("tools")) or []) if tool is not None]
    if "messages" not in body and ("input" in body or kinds & _PARTS or _has_items(messages)):
        return "openai-responses"
    spoken = [message for message in map(as_object, messages) if message is not None]
    chat = any("tool_calls" in m or m.get("role") in ("tool", "function", "developer") for m in spoken)
    if kinds & _BLOCKS or any("input_schema" in tool for tool in tools):
        return "anthropic"
    if "system" in body or "anthropic_version" in body:
        return "anthropic"
    led = any(m.get("role") == "system" for m in spoken)
    if (
        claude(as_text(body.get("model"))) is not None
        and "/" not in as_text(body.get("model"))
        and not chat
        and not led
    ):
        return "anthropic"
    return "openai-chat"


def _has_items(messages: Sequence[Json]) -> bool:
    items = (as_object(message) or {} for message in messages)
    return any("role" not in item and as_text(item.get("type")) for item in items)


def _kinds(messages: Sequence[Json]) -> Iterator[str]:
    for message in messages:
        for block in as_array((as_object(message) or {}).get("content")) or []:
            yield as_text((as_object(block) or {}).get("type"))
