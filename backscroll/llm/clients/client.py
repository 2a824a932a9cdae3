"""Vendor-neutral requests, replies and stream events, and the client protocol.

Owns the shapes: a `Request` in the format of the client's own wire, a `Reply`, the events of a stream, and the protocol that
every client follows. Elsewhere: the network (`openai`, `anthropic`), `retries`, money (`engine/budget/costs`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias, cast

from backscroll.vocab.part import Json, ToolCall
from backscroll.vocab.prompt import Wire

#: How an answer ended; `endless`: the service far exceeded the requested tokens, and we cut it off.
Finish: TypeAlias = Literal["stop", "length", "tools", "refused", "endless", "other"]


def _none() -> Mapping[str, Json]:
    return {}


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call as the vendor reported them, normalized: `input` is the whole prompt."""

    input: int = 0  # all tokens of the prompt, cached and written ones included
    cached: int = 0  # of these, read from the cache
    written: int = 0  # of these, written to the cache
    output: int = 0  # all tokens of the answer, reasoning included
    reasoning: int = 0
    known: bool = True  # False: the vendor reported nothing, or something impossible
    odd: str = ""  # what it reported in that case


@dataclass(frozen=True, slots=True)
class Request:
    """One call. Messages are in the client's wire; plain `{"role", "content"}` messages work on every wire."""

    messages: Sequence[Mapping[str, Json]]
    system: Json = ""  # a text, or blocks if the wire has them; empty: none
    model: str = ""  # empty: the provider's
    tools: Sequence[Mapping[str, Json]] = ()
    max_tokens: int = 4096  # of the answer, reasoning included
    schema: Mapping[str, Json] | None = None  # JSON Schema of the answer
    temperature: float | None = None  # None: the vendor's own
    more: Mapping[str, Json] = field(default_factory=_none)  # added to the request unchanged


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole answer. `raw` is what the vendor sent (a message, output items or content blocks), to be sent back unchanged."""

    text: str
    model: str
    finish: Finish = "stop"
    usage: Usage = Usage()
    tool_calls: tuple[ToolCall, ...] = ()
    reasoning: str = ""
    raw: Json = None
    cut: tuple[int, ...] = ()  # indexes of tool calls truncated at the limit: must not run


def broken_calls(calls: Sequence[ToolCall]) -> tuple[int, ...]:
    """Return the indexes of calls whose arguments are truncated JSON; for the last call, also if they are empty."""
    return tuple(n for n, call in enumerate(calls) if _is_broken(call.arguments, last=n == len(calls) - 1))


def _is_broken(arguments: Json, *, last: bool) -> bool:
    if not isinstance(arguments, str):
        return False
    if not arguments.strip():
        return last
    try:
        json.loads(arguments, strict=False)
    except (ValueError, RecursionError):
        return True
    return False


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More text of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """More of the reasoning before the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class CallDelta:
    """More of a tool call; `id` and `name` come with its first piece."""

    index: int
    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Done:
    """The end of a stream, with the assembled reply; always the last event."""

    reply: Reply


@dataclass(frozen=True, slots=True)
class Again:
    """A stream failed and is retried: discard the answer so far. Only from `retries`."""

    reason: str  # the message of the error
    attempt: int  # number of the failed attempt: 1, 2, …
    wait: float  # seconds until the next attempt
    dropped: bool = False  # part of the answer had arrived
    error: str = ""  # the kind of error: ModelBusy, CutShort, Unreachable


@dataclass(frozen=True, slots=True)
class Tally:
    """The vendor's token counts so far, if it reports them before the end: all that is known of a truncated answer."""

    usage: Usage


StreamEvent: TypeAlias = TextDelta | ReasoningDelta | CallDelta | Tally | Again | Done


class Client(Protocol):
    """A client of a model service. Calls are made once; `retries` repeats them."""

    @property
    def wire(self) -> Wire:
        """The message format of the service."""
        ...

    @property
    def provider(self) -> str:
        """The configured name, for the ledger."""
        ...

    def complete(self, request: Request) -> Reply:
        """Send a request and wait for the whole answer; raises a `ModelError`."""
        ...

    def stream(self, request: Request) -> Iterator[StreamEvent]:
        """Send a request and stream the answer; the last event is `Done`, or an error is raised."""
        ...

    def abort(self) -> None:
        """Stop the call under way, from any thread or signal handler: it raises `CutShort`. Does nothing between calls."""
        ...

    def close(self) -> None:
        """Close connections."""
        ...


def sendable(value: Json) -> Json:
    """Return JSON that can be encoded as UTF-8: lone surrogates become question marks."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, Mapping):
        return {sendable(k): sendable(v) for k, v in cast("Mapping[str, Json]", value).items()}
    if isinstance(value, list | tuple):
        return [sendable(v) for v in cast("list[Json]", value)]
    return value
