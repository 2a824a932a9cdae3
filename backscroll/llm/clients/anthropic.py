"""Client for Anthropic's Messages API, through the vendor's SDK.

Owns opening the SDK (lazily: loading it takes a second or two), requests and answers of that wire, streamed or whole. All
fields but the three that the SDK requires pass through it untouched, so that blocks newer than the SDK arrive. Its retries
and its own key lookup are off.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from backscroll.errors import MissingExtra
from backscroll.llm.clients.anthropic_events import AnthropicStreamState, reply_of
from backscroll.llm.clients.client import Done, Reply, Request, StreamEvent, sendable
from backscroll.llm.clients.connections import Connections, OpenCall
from backscroll.llm.clients.faults import build_stop_error
from backscroll.llm.clients.sdk import cut_short, nonsense, our_errors, plain, read_events, waits_of
from backscroll.llm.clients.stream_bounds import StreamBounds, bounded_body
from backscroll.llm.provider import Provider
from backscroll.vocab.part import Json
from backscroll.vocab.prompt import Wire

if TYPE_CHECKING:
    from anthropic import Anthropic

_LEAST_THINKING = 1024  # tokens; the wire rejects smaller budgets


def _open_sdk(provider: Provider, key: str, connections: Connections) -> Anthropic:
    try:
        import anthropic
    except ImportError as error:
        raise MissingExtra(
            "calling this model needs the package anthropic",
            hint="pip install 'backscroll[anthropic]'",
        ) from error
    waits = waits_of(anthropic, provider)
    return anthropic.Anthropic(
        # Without one the SDK would look for a key itself, and the user's own server would get the vendor's key.
        api_key=key or "none",
        # The SDK appends this part of the URL itself.
        base_url=provider.address.rstrip("/").removesuffix("/v1"),
        timeout=waits,
        max_retries=0,
        http_client=anthropic.DefaultHttpxClient(
            timeout=waits, event_hooks={"request": [connections.hook], "response": [bounded_body]}
        ),
    )


class AnthropicClient:
    """A client for models on the Messages wire."""

    def __init__(self, provider: Provider, key: str) -> None:
        self._provider = provider
        self._connections = Connections()
        self._sdk = _open_sdk(provider, key, self._connections)

    @property
    def wire(self) -> Wire:
        """Always `anthropic`."""
        return "anthropic"

    @property
    def provider(self) -> str:
        """The name of the service in the configuration."""
        return self._provider.name

    def complete(self, request: Request) -> Reply:
        """Send a request and wait for the whole answer."""
        with self._connections.call() as call:
            body = self._body(request)
            with self._faults(body["model"], call):
                told: Json = plain(cast("Any", self._sdk.messages).create(**body))
        if not isinstance(told.get("content"), list):
            raise nonsense(self._provider)
        return reply_of(told, body["model"])

    def stream(self, request: Request) -> Iterator[StreamEvent]:
        """Send a request and stream the answer."""
        with self._connections.call() as call:
            body: dict[str, Json] = {**self._body(request), "stream": True}
            heard = AnthropicStreamState(self.provider, body["model"])
            bounds = StreamBounds(self._provider, request.max_tokens)
            with self._faults(body["model"], call):
                stream = cast("Any", self._sdk.messages).create(**body)
            # Closed on every way out, so that no connection is left when the reader stops early.
            with (
                self._faults(body["model"], call, streaming=True),
                closing(read_events(stream, bounds.watch)) as events,
            ):
                for event in events:
                    yield from bounds.count_events(heard.take(event or {}))
                    if heard.ended or bounds.full:
                        break
        if bounds.full and not heard.ended:
            yield Done(replace(reply_of(heard.message(), body["model"]), finish="endless"))
            return
        if not heard.ended:
            raise build_stop_error(self.provider) if call.aborted else cut_short(self._provider)
        yield Done(reply_of(heard.message(), body["model"]))

    def abort(self) -> None:
        """Stop the call under way, from any thread."""
        self._connections.abort()

    def close(self) -> None:
        """Close connections."""
        self._sdk.close()

    def _body(self, request: Request) -> dict[str, Json]:
        more: dict[str, Json] = {}
        if request.system:
            more["system"] = sendable(request.system)
        import anthropic

        if request.tools:
            more["tools"] = sendable([dict(t) for t in request.tools])
        if request.temperature is not None:
            more["temperature"] = request.temperature
        if request.schema is not None and self._provider.structured:
            more["output_config"] = {"format": {"type": "json_schema", "schema": dict(request.schema)}}
        return {
            "model": request.model or self._provider.model,
            "max_tokens": request.max_tokens,
            "messages": sendable([dict(m) for m in request.messages]),
            "timeout": waits_of(anthropic, self._provider),
            "extra_body": {**more, **_within(request.more, request.max_tokens)},
        }

    @contextmanager
    def _faults(self, model: str, call: OpenCall, *, streaming: bool = False) -> Generator[None]:
        """Turn errors of the SDK into our errors."""
        import anthropic

        with our_errors(anthropic, self._provider, model, call, streaming=streaming):
            yield


def _within(more: Mapping[str, Json], limit: int) -> Mapping[str, Json]:
    """Return the extra fields of a request, with a thinking budget that leaves room for the answer, of which it is part."""
    thinking = more.get("thinking")
    if not isinstance(thinking, Mapping):
        return more
    told = cast("Mapping[str, Json]", thinking)
    budget = told.get("budget_tokens")
    if not isinstance(budget, int) or budget < limit:
        return more
    return {**more, "thinking": {**told, "budget_tokens": max(_LEAST_THINKING, limit * 3 // 4)}}
