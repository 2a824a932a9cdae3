"""Parse a request to a scripted model, whatever the wire.

Owns reading the bodies of three wires into one shape: the conversation as text, and the blocks that a provider would cache.
Pure.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from backscroll.vocab.part import Json
from backscroll.vocab.prompt import Wire


@dataclass(frozen=True, slots=True)
class CachePiece:
    """One block of a prompt in the order in which it is cached; `marked` where the prompt asks to cache up to here."""

    text: str
    marked: bool = False


@dataclass(frozen=True, slots=True)
class ScriptedRequest:
    """One request."""

    wire: Wire
    body: Mapping[str, Json]
    system: str
    said: tuple[tuple[str, str], ...]  # role and text of every message
    pieces: tuple[CachePiece, ...]

    @property
    def model(self) -> str:
        """The requested model."""
        return str(self.body.get("model") or "")

    @property
    def streamed(self) -> bool:
        """Whether the answer is to be streamed."""
        return bool(self.body.get("stream"))

    @property
    def wants_usage(self) -> bool:
        """Whether a stream should end with the usage, if that is optional on the wire."""
        options = self.body.get("stream_options")
        return isinstance(options, Mapping) and bool(cast("Mapping[str, Json]", options).get("include_usage"))

    @property
    def tools(self) -> list[Mapping[str, Json]]:
        """The tools that are offered."""
        return _mappings(self.body.get("tools"))

    @property
    def last(self) -> tuple[str, str]:
        """Role and text of the newest message."""
        return self.said[-1] if self.said else ("", "")

    @property
    def everything(self) -> str:
        """The whole text of the prompt."""
        return "\n".join([self.system, *(text for _, text in self.said)])

    @property
    def limit(self) -> int:
        """The output token limit; 0: not given."""
        for name in ("max_completion_tokens", "max_tokens", "max_output_tokens"):
            value = self.body.get(name)
            if isinstance(value, int) and value > 0:
                return value
        return 0


def read_request(wire: Wire, body: Mapping[str, Json]) -> ScriptedRequest:
    """Return the request in a body of some wire."""
    name = "input" if wire == "openai-responses" else "messages"
    given = body.get(name)
    plain: list[Mapping[str, Json]] = [{"role": "user", "content": given}]
    messages = plain if isinstance(given, str) else _mappings(given)
    system = _words(body.get("system") or body.get("instructions") or "")
    said: list[tuple[str, str]] = []
    for message in messages:
        role = _role(message)
        text = _words(message)
        if role == "system":
            system = f"{system}\n{text}" if system else text
        else:
            said.append((role, text))
    pieces = _blocks(body, messages) if wire == "anthropic" else _whole(body, messages)
    return ScriptedRequest(wire, body, system, tuple(said), tuple(pieces))


def _role(message: Mapping[str, Json]) -> str:
    kind = message.get("type")
    if kind == "function_call_output":
        return "tool"
    if kind in {"function_call", "reasoning"}:
        return "assistant"
    role = str(message.get("role") or "user")
    if role == "user" and any(b.get("type") == "tool_result" for b in _mappings(message.get("content"))):
        return "tool"
    return "system" if role == "developer" else role


def _words(value: Json) -> str:
    """Return all text of a message, including names and arguments of calls."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(filter(None, (_words(v) for v in cast("list[Json]", value))))
    if not isinstance(value, Mapping):
        return ""
    part = cast("Mapping[str, Json]", value)
    names = (
        "name",
        "text",
        "content",
        "output",
        "thinking",
        "summary",
        "arguments",
        "input",
        "function",
        "tool_calls",
    )
    found = [
        json.dumps(part[n], ensure_ascii=False)
        if n == "input" and isinstance(part[n], Mapping)
        else _words(part[n])
        for n in names
        if n in part
    ]
    return "\n".join(filter(None, found))


def _whole(body: Mapping[str, Json], messages: list[Mapping[str, Json]]) -> list[CachePiece]:
    """Return the pieces in OpenAI's order, cached automatically: tools, instructions, then messages."""
    out = [CachePiece(_dump_json(tool)) for tool in _mappings(body.get("tools"))]
    if body.get("instructions"):
        out.append(CachePiece(_dump_json(body["instructions"])))
    return out + [CachePiece(_dump_json(m)) for m in messages]


def _blocks(body: Mapping[str, Json], messages: list[Mapping[str, Json]]) -> list[CachePiece]:
    """Return the pieces in Anthropic's order, cached up to marks: tools, system, then blocks of messages."""
    out = [_block(tool, "tool") for tool in _mappings(body.get("tools"))]
    system = body.get("system")
    out += [_block(b, "system") for b in _as_blocks(system)]
    for message in messages:
        out += [_block(b, str(message.get("role"))) for b in _as_blocks(message.get("content"))]
    return out


def _as_blocks(content: Json) -> list[Mapping[str, Json]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return _mappings(content)


def _block(block: Mapping[str, Json], role: str) -> CachePiece:
    plain = {k: v for k, v in block.items() if k != "cache_control"}
    return CachePiece(f"{role} {_dump_json(plain)}", bool(block.get("cache_control")))


def _dump_json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


def _mappings(value: Json) -> list[Mapping[str, Json]]:
    found = cast("list[Json]", value) if isinstance(value, list) else []
    return [cast("Mapping[str, Json]", v) for v in found if isinstance(v, Mapping)]
