"""Client for OpenAI's Responses wire, with items instead of messages.

Owns requests and answers of that wire, streamed or whole. Nothing is stored at the service (`store` is off): the log is ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any, cast

from backscroll.llm.clients.client import (
    CallDelta,
    Done,
    Finish,
    ReasoningDelta,
    Reply,
    Request,
    StreamEvent,
    TextDelta,
    Usage,
    broken_calls,
    sendable,
)
from backscroll.llm.clients.faults import build_stop_error, in_stream
from backscroll.llm.clients.openai.sdk import SdkClient
from backscroll.llm.clients.sdk import cut_short, details, mappings, number, plain, read_events, sound
from backscroll.llm.clients.stream_bounds import StreamBounds
from backscroll.vocab.part import Json, ToolCall
from backscroll.vocab.prompt import Wire

_LAST = {"response.completed", "response.incomplete", "response.failed"}


class ResponsesClient(SdkClient):
    """A client for models on the Responses wire."""

    @property
    def wire(self) -> Wire:
        """Always `openai-responses`."""
        return "openai-responses"

    def complete(self, request: Request) -> Reply:
        """Send a request and wait for the whole answer."""
        with self._connections.call() as call:
            body = self._body(request)
            with self._faults(body["model"], call):
                told = plain(cast("Any", self._sdk.responses).create(**body))
        return self._reply(told, body["model"])

    def stream(self, request: Request) -> Iterator[StreamEvent]:
        """Send a request and stream the answer."""
        last: dict[str, Json] | None = None
        names: dict[int, tuple[str, str]] = {}
        said: list[str] = []
        bounds = StreamBounds(self._provider, request.max_tokens)
        with self._connections.call() as call:
            body: dict[str, Json] = {**self._body(request), "stream": True}
            with self._faults(body["model"], call):
                stream = cast("Any", self._sdk.responses).create(**body)
            with (
                self._faults(body["model"], call, streaming=True),
                closing(read_events(stream, bounds.watch)) as events,
            ):
                for event in filter(None, events):
                    if event.get("type") in _LAST:
                        last = event["response"]
                    elif event.get("type") == "error" or event.get("error"):
                        raise in_stream(event, provider=self.provider, model=body["model"])
                    else:
                        for delta in bounds.count_events(_deltas(event, names)):
                            said += [delta.text] if isinstance(delta, TextDelta) else []
                            yield delta
                    if bounds.full:
                        break
        if bounds.full:
            yield Done(_endless("".join(said), body["model"]))
            return
        if last is None:
            raise build_stop_error(self.provider) if call.aborted else cut_short(self._provider)
        yield Done(self._reply(last, body["model"]))

    def _body(self, request: Request) -> dict[str, Json]:
        body: dict[str, Json] = {
            "model": request.model or self._provider.model,
            "input": sendable([dict(m) for m in request.messages]),
            "max_output_tokens": request.max_tokens,
            "store": False,
        }
        if request.system:
            body["instructions"] = sendable(request.system)
        if request.tools:
            body["tools"] = [dict(t) for t in request.tools]
        if request.temperature is not None:
            body["temperature"] = request.temperature
        if request.schema is not None and self._provider.structured:
            shape = {"type": "json_schema", "name": "answer", "schema": dict(request.schema), "strict": True}
            body["text"] = {"format": shape}
        return {**body, **({"extra_body": dict(request.more)} if request.more else {})}

    def _reply(self, told: Mapping[str, Json], asked: str) -> Reply:
        if told.get("status") == "failed" or told.get("error"):
            raise in_stream(told, provider=self.provider, model=asked)
        if not isinstance(told.get("output"), list):
            raise in_stream(told, provider=self.provider, model=asked)
        return put_together(mappings(told["output"]), told, asked)


def _deltas(event: Mapping[str, Json], names: dict[int, tuple[str, str]]) -> Iterator[StreamEvent]:
    """Yield what one event adds. `names` remembers which calls have been announced."""
    kind = event.get("type")
    if kind == "response.output_text.delta":
        yield TextDelta(str(event["delta"]))
    elif kind in {"response.reasoning_summary_text.delta", "response.reasoning_text.delta"}:
        yield ReasoningDelta(str(event["delta"]))
    elif kind == "response.output_item.added" and event["item"].get("type") == "function_call":
        item = event["item"]
        names[event["output_index"]] = (str(item.get("call_id") or ""), str(item.get("name") or ""))
        yield CallDelta(event["output_index"], *names[event["output_index"]], "")
    elif kind == "response.function_call_arguments.delta":
        known = names.get(event["output_index"], ("", ""))
        yield CallDelta(event["output_index"], *known, str(event["delta"]))


def _endless(text: str, asked: str) -> Reply:
    """Return the partial reply of an answer that did not end: its text."""
    part: dict[str, Json] = {"type": "output_text", "text": text, "annotations": []}
    item: dict[str, Json] = {"type": "message", "role": "assistant", "content": [part]}
    return Reply(text, asked, "endless", Usage(known=False), raw=[item] if text else [])


def put_together(items: list[Mapping[str, Json]], told: Mapping[str, Json], asked: str) -> Reply:
    """Return the reply in the items of a response."""
    text: list[str] = []
    thought: list[str] = []
    calls: list[ToolCall] = []
    halves: set[int] = set()  # calls marked incomplete
    refused = False
    for item in items:
        match item.get("type"):
            case "message":
                for part in mappings(item.get("content")):
                    refused = refused or part.get("type") == "refusal"
                    text.append(str(part.get("text") or ""))
            case "reasoning":
                thought += [str(s.get("text") or "") for s in mappings(item.get("summary"))]
            case "function_call":
                halves |= {len(calls)} if item.get("status") == "incomplete" else set()
                calls.append(
                    ToolCall(str(item.get("call_id")), str(item.get("name")), item.get("arguments") or "")
                )
            case _:
                continue  # a vendor's own tools; they stay in `raw`
    finish: Finish = "refused" if refused else "tools" if calls else "stop"
    if told.get("status") == "incomplete":
        details = cast("Mapping[str, Json]", told.get("incomplete_details") or {})
        finish = "refused" if details.get("reason") == "content_filter" else "length"
    halves |= set(broken_calls(calls)) if finish == "length" else set()
    return Reply(
        text="".join(text),
        model=str(told.get("model") or asked),
        finish=finish,
        usage=_usage(told.get("usage")),
        tool_calls=tuple(calls),
        reasoning="\n".join(thought),
        raw=[dict(i) for i in items],
        cut=tuple(sorted(halves)),
    )


@sound
def _usage(usage: Mapping[str, Json]) -> Usage:
    read = details(usage.get("input_tokens_details"))
    made = details(usage.get("output_tokens_details"))
    whole = number(usage.get("input_tokens"))
    return Usage(
        input=whole,
        cached=min(number(read.get("cached_tokens")), whole),
        written=min(number(read.get("cache_write_tokens")), whole),
        output=number(usage.get("output_tokens")),
        reasoning=number(made.get("reasoning_tokens")),
    )
