"""What a model is asked and what it answers, whatever the vendor.

Owns the shapes: a `Request` in the words of the client's own wire, a `Reply`, the events of a stream, and the protocol that every
client follows. Not here: the network (`openai`, `anthropic`), trying again (`retries`), money
(`engine/budget/costs`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias, cast

from backscroll.vocab.part import Json, ToolCall
from backscroll.vocab.prompt import Wire

#: How an answer ended; `endless`: the service went on far beyond the tokens that were asked for, and was cut off by us.
Finish: TypeAlias = Literal["stop", "length", "tools", "refused", "endless", "other"]


def _none() -> Mapping[str, Json]:
    return {}


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call as the vendor reported them, in one way of counting: `input` is the whole prompt."""

    input: int = 0  # all tokens of the prompt, cached and written ones included
    cached: int = 0  # of these, read from the cache
    written: int = 0  # of these, written to the cache
    output: int = 0  # all tokens of the answer, reasoning included
    reasoning: int = 0
    known: bool = True  # False: the vendor said nothing, or nothing that could be true
    odd: str = ""  # what it said then


@dataclass(frozen=True, slots=True)
class Request:
    """One call. Messages are in the client's wire; plain `{"role", "content"}` messages are right on every wire."""

    messages: Sequence[Mapping[str, Json]]
    system: Json = ""  # a text, or blocks where the wire has them; empty: none
    model: str = ""  # empty: the provider's
    tools: Sequence[Mapping[str, Json]] = ()
    max_tokens: int = 4096  # of the answer, reasoning included
    schema: Mapping[str, Json] | None = None  # JSON Schema of the answer
    temperature: float | None = None  # None: the vendor's own
    more: Mapping[str, Json] = field(default_factory=_none)  # goes into the request as it is


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole answer. `raw` is what the vendor sent (a message, output items or content blocks), to be replayed as it is."""

    text: str
    model: str
    finish: Finish = "stop"
    usage: Usage = Usage()
    tool_calls: tuple[ToolCall, ...] = ()
    reasoning: str = ""
    raw: Json = None
    cut: tuple[int, ...] = ()  # places of the tool calls that broke off at the limit: not to be carried out


def broken_calls(calls: Sequence[ToolCall]) -> tuple[int, ...]:
    """Return places of the calls whose arguments are the beginning of a JSON text; of the last one also where nothing came."""
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
    """More words of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """More of the thinking before it."""

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
    """The end of a stream, with everything put together; nothing comes after it."""

    reply: Reply


@dataclass(frozen=True, slots=True)
class Again:
    """A stream failed and is asked for once more: whatever came of the answer so far is void. Only from `retries`."""

    reason: str  # in the words of the error
    attempt: int  # that failed: 1, 2, …
    wait: float  # seconds until the next one begins
    dropped: bool = False  # some of the answer had come already
    error: str = ""  # the kind of error: ModelBusy, CutShort, Unreachable


@dataclass(frozen=True, slots=True)
class Tally:
    """What the vendor has counted so far, where it tells that before the end: all that is known of an answer that breaks off."""

    usage: Usage


StreamEvent: TypeAlias = TextDelta | ReasoningDelta | CallDelta | Tally | Again | Done


class Client(Protocol):
    """A model behind some address. Calls are made once; `retries` makes them again."""

    @property
    def wire(self) -> Wire:
        """The shape in which it wants its messages."""
        ...

    @property
    def provider(self) -> str:
        """The name under which it was configured, for the ledger."""
        ...

    def complete(self, request: Request) -> Reply:
        """Ask and wait for the whole answer; errors are of the `ModelError` tree."""
        ...

    def stream(self, request: Request) -> Iterator[StreamEvent]:
        """Ask and hand on the answer as it comes; the last event is `Done`, or an error is raised."""
        ...

    def abort(self) -> None:
        """End what is going on, from any thread or signal handler: the waiting call gets `CutShort`. Does nothing in between
        calls.
        """
        ...

    def close(self) -> None:
        """Close connections."""
        ...


def sendable(value: Json) -> Json:
    """JSON that can be sent: half a character (a lone surrogate) cannot, and becomes a question mark."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, Mapping):
        return {sendable(k): sendable(v) for k, v in cast("Mapping[str, Json]", value).items()}
    if isinstance(value, list | tuple):
        return [sendable(v) for v in cast("list[Json]", value)]
    return value
