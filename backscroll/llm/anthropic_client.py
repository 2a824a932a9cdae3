"""Messages: Anthropic's wire, spoken directly over HTTP.

Owns requests and answers of that wire, streamed or whole. The vendor's SDK is not needed: the wire is small, and its HTTP library
comes with the one of OpenAI. Before: `providers`, `anthropic_client_events`. After: `client.Reply`.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

from backscroll.errors import CutShort, MissingExtra
from backscroll.llm.anthropic_client_events import Heard, reply_of, server_sent
from backscroll.llm.client import Done, Reply, Request, StreamEvent, sendable
from backscroll.llm.client_faults import refused, timed_out
from backscroll.llm.connections import Connections
from backscroll.llm.openai_client import cut_short, unreachable
from backscroll.llm.providers import Provider
from backscroll.vocab.part import Json
from backscroll.vocab.prompt import Wire

if TYPE_CHECKING:
    import httpx2

_VERSION = "2023-06-01"


class AnthropicClient:
    """A model behind the Messages wire."""

    def __init__(self, provider: Provider, key: str) -> None:
        self._provider = provider
        try:
            import httpx2
        except ImportError as error:
            raise MissingExtra(
                "talking to a model needs the package openai", hint="pip install 'backscroll[openai]'"
            ) from error
        headers = {"anthropic-version": _VERSION, **({"x-api-key": key} if key else {})}
        self._connections = Connections()
        self._http = httpx2.Client(
            headers=headers, timeout=provider.timeout, event_hooks={"request": [self._connections.hook]}
        )

    @property
    def wire(self) -> Wire:
        """Always `anthropic`."""
        return "anthropic"

    @property
    def provider(self) -> str:
        """Its name in the configuration."""
        return self._provider.name

    def complete(self, request: Request) -> Reply:
        """Ask and wait for the whole answer."""
        body = self._body(request)
        with self._our_errors():
            answer = self._http.post(self._address, content=_bytes(body), headers=_JSON)
        told = self._checked(answer, body["model"])
        if not isinstance(told.get("content"), list):
            raise CutShort(
                f"what {self.provider} sent is no answer of a model",
                hint="check kind and base_url of the provider",
            )
        return reply_of(told, body["model"])

    def stream(self, request: Request) -> Iterator[StreamEvent]:
        """Ask and hand on the answer as it comes."""
        body: dict[str, Json] = {**self._body(request), "stream": True}
        heard = Heard(self.provider, body["model"])
        with (
            self._our_errors(streaming=True),
            self._http.stream("POST", self._address, content=_bytes(body), headers=_JSON) as answer,
        ):
            if answer.status_code >= 400:
                answer.read()
                self._checked(answer, body["model"])
            for event in server_sent(answer.iter_lines()):
                yield from heard.take(event)
                if heard.ended:
                    break
        if not heard.ended:
            raise cut_short(self._provider)
        yield Done(reply_of(heard.message(), body["model"]))

    def abort(self) -> None:
        """End what is going on, from any thread."""
        self._connections.abort()

    def close(self) -> None:
        """Let go of connections."""
        self._http.close()

    @property
    def _address(self) -> str:
        root = self._provider.address.rstrip("/")
        return f"{root}/messages" if root.endswith("/v1") else f"{root}/v1/messages"

    def _body(self, request: Request) -> dict[str, Json]:
        body: dict[str, Json] = {
            "model": request.model or self._provider.model,
            "max_tokens": request.max_tokens,
            "messages": [dict(m) for m in request.messages],
        }
        if request.system:
            body["system"] = request.system
        if request.tools:
            body["tools"] = [dict(t) for t in request.tools]
        if request.temperature is not None:
            body["temperature"] = request.temperature
        if request.schema is not None and self._provider.structured:
            body["output_config"] = {"format": {"type": "json_schema", "schema": dict(request.schema)}}
        return {**body, **request.more}

    def _checked(self, answer: httpx2.Response, model: str) -> dict[str, Json]:
        try:
            told: Json = answer.json()
        except ValueError:
            told = answer.text
        if answer.status_code >= 400:
            raise refused(answer.status_code, told, dict(answer.headers), provider=self.provider, model=model)
        return cast("dict[str, Json]", told) if isinstance(told, dict) else {}

    @contextmanager
    def _our_errors(self, *, streaming: bool = False) -> Generator[None]:
        import httpx2

        try:
            yield
        except httpx2.TimeoutException as error:
            raise timed_out(self.provider, self._provider.timeout) from error
        except (httpx2.ConnectError, httpx2.UnsupportedProtocol) as error:
            raise unreachable(self._provider) from error
        except httpx2.HTTPError as error:
            raise (cut_short(self._provider) if streaming else unreachable(self._provider)) from error


_JSON: Mapping[str, str] = {"content-type": "application/json"}


def _bytes(body: Mapping[str, Json]) -> bytes:
    return json.dumps(sendable(dict(body)), ensure_ascii=False).encode()
