"""Client for the Chat Completions wire, which nearly every service supports.

Owns requests and answers of that wire, streamed or whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any, cast
from urllib.parse import urlsplit

from backscroll.errors import InvalidInput
from backscroll.llm.clients.client import (
    Done,
    Finish,
    Reply,
    Request,
    StreamEvent,
    Tally,
    Usage,
    broken_calls,
    sendable,
)
from backscroll.llm.clients.connections import OpenCall
from backscroll.llm.clients.dialects import adapt_request, arguments_of, complaint, thought_of, words_of
from backscroll.llm.clients.fault_words import finish_of
from backscroll.llm.clients.faults import build_stop_error, gave_up, in_stream
from backscroll.llm.clients.openai.pieces import OpenAIStreamState, new_id
from backscroll.llm.clients.openai.sdk import SdkClient
from backscroll.llm.clients.sdk import cut_short, details, mappings, number, plain, read_events, sound
from backscroll.llm.clients.stream_bounds import StreamBounds
from backscroll.llm.provider import Provider
from backscroll.vocab.part import Json, ToolCall
from backscroll.vocab.prompt import Wire


def _as_it_is(answer: Any) -> Any:
    return answer


class ChatClient(SdkClient):
    """A client for models on the Chat Completions wire."""

    def __init__(self, provider: Provider, key: str) -> None:
        super().__init__(provider, key)
        self._unwanted: frozenset[str] = frozenset()  # fields that this service has rejected

    @property
    def wire(self) -> Wire:
        """Always `openai-chat`."""
        return "openai-chat"

    def complete(self, request: Request) -> Reply:
        """Send a request and wait for the whole answer."""
        with self._connections.call() as call:
            body = self._body(request)
            told = self._send_request(body, call, plain)
        choices = mappings(told.get("choices"))
        if not choices or not isinstance(choices[0].get("message"), Mapping):
            raise in_stream(told, provider=self.provider, model=body["model"])
        return self._reply(choices[0]["message"], choices[0].get("finish_reason"), told, body["model"])

    def stream(self, request: Request) -> Iterator[StreamEvent]:
        """Send a request and stream the answer."""
        heard, ended = OpenAIStreamState(), False
        bounds = StreamBounds(self._provider, request.max_tokens)
        # From here on it can be stopped from outside, even while a long prompt is still being processed.
        with self._connections.call() as call:
            body: dict[str, Json] = {
                **self._body(request),
                "stream": True,
                "stream_options": {"include_usage": True},
            }
            stream = self._send_request(body, call)
            # Closed on every way out, so that no connection is left when the reader stops early.
            with (
                self._faults(body["model"], call, streaming=True),
                closing(read_events(stream, bounds.watch)) as chunks,
            ):
                for chunk in chunks:
                    if chunk is None:
                        ended = True
                        break
                    if chunk.get("error") and not chunk.get("choices"):
                        raise in_stream(chunk, provider=self.provider, model=body["model"])
                    yield from bounds.count_events(heard.take(chunk))
                    if chunk.get("usage"):
                        yield Tally(_usage(chunk["usage"]))
                    if bounds.full:
                        break
        if bounds.full:
            reply = self._reply(heard.message(), "length", heard.told, body["model"])
            yield Done(replace(reply, finish="endless"))
            return
        # Some services never send a finish reason; then the end marker or the usage shows that the stream is complete.
        whole = heard.finish or ((ended or heard.told.get("usage")) and heard.began)
        if not whole:
            raise build_stop_error(self.provider) if call.aborted else cut_short(self._provider)
        yield Done(self._reply(heard.message(), heard.finish or "stop", heard.told, body["model"]))

    def _send_request(
        self, body: dict[str, Json], call: OpenCall, read: Callable[[Any], Json] = _as_it_is
    ) -> Json:
        """Return the answer to a request; fields that a service rejects by name are changed, for later requests too."""
        while True:
            try:
                with self._faults(body["model"], call):
                    create = cast("Any", self._sdk.chat.completions).create
                    return read(create(**adapt_request(body, self._unwanted)))
            except InvalidInput as error:
                if "output_limit" in error.facts:  # it accepts the name, not the value
                    raise
                found = complaint(error.message, adapt_request(body, self._unwanted), self._unwanted)
                if not found:
                    raise
                self._unwanted |= {found}

    def _body(self, request: Request) -> dict[str, Json]:
        messages = sendable([dict(m) for m in request.messages])
        if request.system:
            messages.insert(0, {"role": "system", "content": sendable(request.system)})
        # Imitators use the older name of the limit; OpenAI's newer models accept only the newer one.
        at_home = (urlsplit(self._provider.address).hostname or "").endswith("openai.com")
        limit = "max_completion_tokens" if at_home else "max_tokens"
        body: dict[str, Json] = {
            "model": request.model or self._provider.model,
            "messages": messages,
            limit: request.max_tokens,
        }
        if request.tools:
            body["tools"] = sendable([dict(t) for t in request.tools])
        if request.temperature is not None:
            body["temperature"] = request.temperature
        if request.schema is not None and self._provider.structured:
            shape = {"name": "answer", "schema": dict(request.schema), "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": shape}
        return {**body, **_apart(request.more)}

    def _reply(
        self, message: Mapping[str, Json], finish: Json, told: Mapping[str, Json], asked: str
    ) -> Reply:
        """Return the reply in a whole message."""
        found = finish_of(finish)
        if found == "broken":
            raise gave_up(self.provider, str(finish))
        raw = _with_ids(message)
        calls = tuple(
            ToolCall(str(c["id"]), str(c["function"].get("name") or ""), c["function"]["arguments"])
            for c in mappings(raw.get("tool_calls"))
        )
        ended = _finish(found, message, calls)
        return Reply(
            text=words_of(message.get("content")),
            model=str(told.get("model") or asked),
            finish=ended,
            usage=_usage(told.get("usage")),
            tool_calls=calls,
            reasoning=thought_of(message),
            raw=raw,
            cut=broken_calls(calls) if ended == "length" else (),
        )


def _finish(found: Finish, message: Mapping[str, Json], calls: tuple[ToolCall, ...]) -> Finish:
    """Return the finish reason; several services send `stop` although they call tools."""
    if message.get("refusal"):
        return "refused"
    return "tools" if calls and found in ("stop", "other") else found


def _with_ids(message: Mapping[str, Json]) -> dict[str, Json]:
    """Return a message whose calls have ids and text arguments, which some services omit or send differently."""
    calls: list[Json] = []
    for told in mappings(message.get("tool_calls")):
        function = told.get("function")
        if isinstance(function, Mapping):
            inner = cast("Mapping[str, Json]", function)
            named = {**inner, "arguments": arguments_of(inner.get("arguments"))}
            calls.append({**told, "type": "function", "id": told.get("id") or new_id(), "function": named})
    return {**message, "tool_calls": calls} if calls else dict(message)


def _apart(more: Mapping[str, Json]) -> dict[str, Json]:
    """Return the fields that the SDK does not name; they pass through untouched."""
    return {"extra_body": dict(more)} if more else {}


@sound
def _usage(usage: Mapping[str, Json]) -> Usage:
    read = details(usage.get("prompt_tokens_details"))
    made = details(usage.get("completion_tokens_details"))
    whole = number(usage.get("prompt_tokens"))
    # DeepSeek and similar services report it at the top level.
    cached = number(read.get("cached_tokens")) or number(usage.get("prompt_cache_hit_tokens"))
    return Usage(
        input=whole,
        cached=min(cached, whole),
        written=min(number(read.get("cache_write_tokens")), whole),
        output=number(usage.get("completion_tokens")),
        reasoning=number(made.get("reasoning_tokens")),
    )
