"""Count the tokens of messages and tools on a wire: the text and the wire's overhead.

Owns `overhead.toml`. Exact for plain text on the OpenAI wires, an upper bound for everything else, so that a prompt that fits
by this count fits. Rendering requests: `assemble/wires`.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from math import ceil
from typing import Any, Protocol, TypeAlias, cast

from backscroll.assemble.validity.anthropic.blocks import in_marks
from backscroll.assemble.wires.parts import (
    arguments_object,
    arguments_text,
    media_words,
    opaque_words,
    resolve_media,
)
from backscroll.errors import InvalidInput
from backscroll.formats.sources.json_text import dumps
from backscroll.formats.sources.media import no_blobs
from backscroll.llm.tokens.media import image_size, is_text, page_count, picture_tokens
from backscroll.vocab.part import Json, Media, Opaque, Part, Reasoning, Text, ToolCall, ToolResult
from backscroll.vocab.prompt import Wire, checked_wire

#: Returns the bytes of a part, or None if they are missing.
BytesOf: TypeAlias = Callable[[Media], bytes | None]


class TokenCounter(Protocol):
    """Counts the tokens of a text."""

    def count(self, text: str) -> int:
        """Return the tokens of a text."""
        ...


class CountableMessage(Protocol):
    """A message of a history or of a prompt."""

    @property
    def role(self) -> str:
        """The role of the sender."""
        ...

    @property
    def parts(self) -> Sequence[Part]:
        """The parts of the message."""
        ...

    @property
    def author(self) -> str | None:
        """The name of the author, if any."""
        ...


@cache
def _figures(wire: Wire) -> Mapping[str, Any]:
    data = tomllib.loads((files("backscroll.llm") / "overhead.toml").read_text(encoding="utf-8"))
    return data[wire]


def own_bytes(media: Media) -> bytes | None:
    """Return the inline bytes of a part."""
    return media.data


def message_tokens(
    parts: Sequence[Part],
    role: str,
    tokenizer: TokenCounter,
    wire: str = "openai-chat",
    *,
    author: str | None = None,
    bytes_of: BytesOf = own_bytes,
) -> int:
    """Return the tokens of one message, including the wire's overhead."""
    way = checked_wire(wire)
    figures = _figures(way)
    results = sum(isinstance(part, ToolResult) for part in parts)
    total = figures["message"] * (1 if role != "tool" else max(1, results))  # one message per tool result
    if author and figures["author"]:
        total += figures["author"] + tokenizer.count(author)
    if role == "system" and way == "anthropic":
        total += tokenizer.count(in_marks(""))  # between other messages it is sent as the user's, in markers
    if len(parts) > 1:
        total += figures["part"] * len(parts)
    return total + sum(_part(part, tokenizer, figures, bytes_of) for part in parts)


def _part(part: Part, tokenizer: TokenCounter, figures: Mapping[str, Any], bytes_of: BytesOf) -> int:
    match part:
        case Text():
            return tokenizer.count(part.text)
        case Media():
            return _media(part, tokenizer, figures, bytes_of)
        case ToolCall():
            return figures["call"] + _call(part, tokenizer, figures)
        case ToolResult():
            inner = sum(_part(p, tokenizer, figures, bytes_of) + 1 for p in part.content)
            return figures["result"] + inner + (tokenizer.count(part.name) if part.name else 0)
        case Reasoning():
            proof = ceil(len(part.signature or "") / figures["signature"])
            return figures["reasoning"] + max(tokenizer.count(part.text), proof)
        case Opaque():
            return max(tokenizer.count(part.raw), tokenizer.count(opaque_words(part)))


def _call(part: ToolCall, tokenizer: TokenCounter, figures: Mapping[str, Any]) -> int:
    """Return the tokens of a call; text that is not a JSON object is sent inside one, which takes more."""
    if not figures["parameter"]:
        return tokenizer.count(part.name) + tokenizer.count(arguments_text(part))
    value = arguments_object(part)
    text = render_json(value)
    many = text.count('":')  # names of arguments, nested ones included
    words = max(
        tokenizer.count(text), tokenizer.count(dumps(value))
    )  # … or rendered as text, if no tools are sent
    return tokenizer.count(part.name) + words + figures["parameter"] * many


def _media(part: Media, tokenizer: TokenCounter, figures: Mapping[str, Any], bytes_of: BytesOf) -> int:
    """Return the vendor's figure, or the tokens of the text that replaces an unsupported attachment."""
    seen = resolve_media(replace(part, data=bytes_of(part)), no_blobs)
    words = tokenizer.count(media_words(part, seen))
    return max(words, _bare(part.name, seen.media_type.lower(), seen.data, tokenizer, figures))


def _bare(
    called: str | None, kind: str, data: bytes | None, tokenizer: TokenCounter, figures: Mapping[str, Any]
) -> int:
    name = tokenizer.count(called) if called else 0
    if kind.startswith("image/"):
        size = image_size(data) if data is not None else None
        return figures["image"] if size is None else picture_tokens(*size, figures["picture"])
    if kind.startswith(("audio/", "video/")):
        return name + (figures["sound_unknown"] if data is None else ceil(len(data) / figures["sound"]))
    if data is None:
        return name + figures["file"]
    if is_text(kind):
        return name + tokenizer.count(data.decode("utf-8", "replace"))
    return name + figures["page"] * page_count(data)


def tools_tokens(tools: Iterable[Mapping[str, Json]] | None, tokenizer: TokenCounter, wire: str) -> int:
    """Return the tokens of the offered tools, in the wire's format."""
    figures = _figures(checked_wire(wire))
    given = list(tools or ())
    for tool in given:
        if not isinstance(cast("object", tool), Mapping):
            raise InvalidInput(
                f"a tool is described by {type(tool).__name__}, not by an object",
                hint="give each tool as the wire wants it: a dictionary with a name and a schema",
            )
    if not given:
        return 0
    return figures["tools"] + sum(figures["tool"] + tokenizer.count(render_json(tool)) for tool in given)


def request_tokens(
    messages: Iterable[CountableMessage],
    tokenizer: TokenCounter,
    wire: str = "openai-chat",
    *,
    tools: Iterable[Mapping[str, Json]] | None = None,
    bytes_of: BytesOf = own_bytes,
) -> int:
    """Return the tokens of a whole request, without the answer."""
    told = sum(
        message_tokens(m.parts, m.role, tokenizer, wire, author=m.author, bytes_of=bytes_of) for m in messages
    )
    return told + tools_tokens(tools, tokenizer, wire) + frame_tokens(wire)


def frame_tokens(wire: str) -> int:
    """Return the fixed overhead of every request."""
    return int(_figures(checked_wire(wire))["reply"])


def render_json(value: Json) -> str:
    """Return a JSON value as sent on the wire."""
    return json.dumps(value, ensure_ascii=False, default=str)
