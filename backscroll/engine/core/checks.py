"""Validate what callers pass in before anything is written: callers are not always type-checked.

Owns only whether something is a content, a time or a path at all; what it means is decided elsewhere.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast, get_args

from backscroll.engine.core.clock import add_timezone
from backscroll.errors import InvalidInput
from backscroll.formats.content_blocks import part_of
from backscroll.formats.sources.json_text import dumps, printable
from backscroll.vocab.message import Content, ContentLike, content_of
from backscroll.vocab.part import Json, Media, Opaque, Part, Reasoning, Text, ToolCall, ToolResult
from backscroll.vocab.values.moment import microseconds
from backscroll.vocab.values.unicode import valid_text

#: Metadata names that change how a message is treated: ours, and those in which the wires keep what they need.
OWN_METADATA = frozenset({"backscroll", "act", "openai", "openai-responses", "anthropic"})

P = ParamSpec("P")
T = TypeVar("T")
_PARTS: tuple[type, ...] = get_args(Part)
_RESULTS = (Text, Media, Opaque)  # what a tool may return
_WORDS: dict[type, tuple[str, ...]] = {
    Text: ("text",),
    Media: ("media_type",),
    ToolCall: ("id", "name"),
    ToolResult: ("call_id",),
    Reasoning: ("text",),
    Opaque: ("vendor", "kind", "raw"),
}
_PERHAPS: dict[type, tuple[str, ...]] = {
    Media: ("blob", "url", "name"),
    ToolResult: ("name",),
    Reasoning: ("signature",),
}


def checked_content(value: ContentLike, author: str | None) -> Content:
    """Return the content, or raise InvalidInput if it is not one."""
    if type(value) is str and (author is None or type(author) is str):
        return Content((Text(value),), author)
    given: Any = value
    if not isinstance(given, (str, Content, Sequence, Mapping, *_PARTS)):
        raise _no_content(given)
    content = content_of(_with_blocks_read(value), author=author)
    signed: Any = content.author
    if signed is not None and not isinstance(signed, str):
        raise InvalidInput(f"the author of a message must be text, not {type(signed).__name__}")
    _check_names(content.metadata)
    _check_parts(content.parts, _PARTS)
    return content


def _with_blocks_read(value: ContentLike) -> str | Content | Part | Sequence[Part]:
    """Return the value with every dictionary converted to the part it describes."""
    if isinstance(value, Mapping):
        return part_of(value)
    if isinstance(value, str | bytes) or not isinstance(value, Sequence):
        return value
    return [part_of(item) if isinstance(item, Mapping) else item for item in value]


def _check_parts(parts: Any, kinds: tuple[type, ...]) -> None:
    if isinstance(parts, str | bytes) or not isinstance(parts, Sequence):
        raise _no_content(parts)
    for part in cast("Sequence[Any]", parts):
        if not isinstance(part, kinds):
            raise _no_content(part)
        kind = cast("type[Any]", type(part))
        for name in _WORDS[kind]:
            _check_text(part, name)
        for name in _PERHAPS.get(kind, ()):
            if getattr(part, name) is not None:
                _check_text(part, name)
        _check_names(part.extra)
        if isinstance(part, ToolResult):
            _check_parts(part.content, _RESULTS)
        if isinstance(part, Media) and not isinstance(cast("Any", part.data), bytes | None):
            raise InvalidInput(f"the data of media must be bytes, not {type(part.data).__name__}")


def _check_text(part: object, name: str) -> None:
    value = getattr(part, name)
    if not isinstance(value, str):
        kind = type(part).__name__
        raise InvalidInput(f"{name} of {kind} must be text, not {type(value).__name__}")


def _check_names(value: Any) -> None:
    if not isinstance(value, Mapping):
        raise InvalidInput(f"metadata and extras must be names with values, not {type(value).__name__}")


def checked_metadata(given: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return a message's metadata from a caller; names reserved by the engine are rejected."""
    for name in given:
        if not isinstance(cast("Any", name), str):
            raise InvalidInput(f"metadata cannot be named {name!r}", hint="use text for names")
        if name in OWN_METADATA:
            raise InvalidInput(
                f"metadata cannot be named {name!r}: the name has a meaning here", hint="choose another name"
            )
    return given


def _no_content(value: object) -> InvalidInput:
    return InvalidInput(
        f"not the content of a message: {type(value).__name__}",
        hint="pass text, a part, several parts, a Content, or dictionaries such as {'type': 'text', 'text': '…'}",
    )


def checked_time(value: str | datetime | None) -> str | None:
    """Return a time with its zone, or raise InvalidInput."""
    given: Any = value
    try:
        if not isinstance(given, str | datetime | None):
            raise TypeError
        time = add_timezone(value)
        if time is not None:
            microseconds(time)
    except (ValueError, OverflowError, OSError, TypeError) as error:
        raise InvalidInput(
            f"invalid time: {value!r}", hint="use ISO 8601, such as 2026-11-15T09:30:00+08:00"
        ) from error
    return time


def checked_path(path: str | os.PathLike[str]) -> Path:
    """Return the path, or raise InvalidInput if no file could have that name."""
    try:
        if b"\0" in os.fsencode(path):
            raise ValueError
    except ValueError as error:
        raise InvalidInput(
            f"not the name of a file: {str(path)!r}",
            hint="it contains a character that no file name can have",
        ) from error
    return Path(path)


def checked_label(text: str) -> str:
    """Return a short text that the store keeps verbatim, or raise InvalidInput if it cannot be encoded."""
    if printable(text) != text:
        raise InvalidInput(
            f"not a text that can be stored: {text!r}",
            hint="it contains a lone surrogate and cannot be encoded",
        )
    return text


def in_valid_text(work: Callable[P, T]) -> Callable[P, T]:
    """Decorate a public method: every text argument (a question, a name, a title) is passed on without lone surrogates."""

    @wraps(work)
    def door(*args: P.args, **kwargs: P.kwargs) -> T:
        named = {valid_text(name): _valid(value) for name, value in kwargs.items()}
        return cast("Callable[..., T]", work)(*map(_valid, args), **named)

    return door


def _valid(value: object) -> object:
    return valid_text(value) if isinstance(value, str) else value


def checked_tools(tools: Any) -> tuple[Mapping[str, Json], ...]:
    """Return the tools of a request, each a JSON object that names its tool."""
    hint = "give each tool as the wire wants it: a dictionary with a name and a schema"
    if isinstance(tools, str | bytes | Mapping) or not isinstance(tools, Iterable):
        raise InvalidInput(f"not a list of tools: {type(cast('object', tools)).__name__}", hint=hint)
    given = tuple(cast("Iterable[Any]", tools))
    for number, tool in enumerate(given):
        if not isinstance(tool, Mapping):
            raise InvalidInput(f"a tool is described by {type(tool).__name__}, not by an object", hint=hint)
        described = cast("Mapping[str, Any]", tool)
        if not _is_named(described):
            raise InvalidInput(f"tools[{number}] has no name: {tool!r}", hint=hint)
        try:
            dumps(dict(described))
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidInput(f"tools[{number}] cannot be written as JSON: {error}", hint=hint) from error
    return given


def _is_named(tool: Mapping[str, Any]) -> bool:
    """Return True if a definition names its tool: by a name, or by a type that the service provides."""
    if "name" in tool:
        return isinstance(tool["name"], str) and bool(tool["name"])
    kind = tool.get("type")
    if kind in ("function", "custom"):
        inner = tool.get(kind)
        return isinstance(inner, Mapping) and _is_named(cast("Mapping[str, Any]", inner))
    return isinstance(kind, str) and bool(kind)
