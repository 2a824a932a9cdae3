"""Chat Completions: the wire that nearly every service speaks.

Owns requests and answers of that wire, streamed or whole. Before: `openai_client`. After: `client.Reply`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast
from urllib.parse import urlsplit

from backscroll.llm.client import (
    CallDelta,
    Done,
    Finish,
    ReasoningDelta,
    Reply,
    Request,
    StreamEvent,
    TextDelta,
    Usage,
    sendable,
)
from backscroll.llm.client_faults import in_stream, stopped
from backscroll.llm.openai_client import SdkClient
from backscroll.llm.sdk import cut_short, number, plain
from backscroll.vocab.part import Json, ToolCall
from backscroll.vocab.prompt import Wire

_FINISH: Mapping[str, Finish] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tools",
    "function_call": "tools",
    "content_filter": "refused",
}


class ChatClient(SdkClient):
    """A model behind the Chat Completions wire."""

    @property
    def wire(self) -> Wire:
        """Always `openai-chat`."""
        return "openai-chat"

    def complete(self, request: Request) -> Reply:
        """Ask and wait for the whole answer."""
        body = self._body(request)
        with self._connections.call() as call, self._faults(body["model"], call):
            told = plain(cast("Any", self._sdk.chat.completions).create(**body))
        choices = told.get("choices")
        if not choices or not isinstance(choices[0].get("message"), Mapping):
            raise in_stream(told, provider=self.provider, model=body["model"])
        return _reply(choices[0]["message"], choices[0].get("finish_reason"), told, body["model"])

    def stream(self, request: Request) -> Iterator[StreamEvent]:
        """Ask and hand on the answer as it comes."""
        body: dict[str, Json] = {
            **self._body(request),
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        heard = _Heard()
        with self._connections.call() as call:
            with self._faults(body["model"], call):
                stream = cast("Any", self._sdk.chat.completions).create(**body)
            # Closed on every way out, so that no connection is left when the reader stops early.
            with self._faults(body["model"], call, streaming=True), stream as chunks:
                for chunk in chunks:
                    yield from heard.take(plain(chunk))
        if not heard.finish:
            raise stopped(self.provider) if call.aborted else cut_short(self._provider)
        yield Done(_reply(heard.message(), heard.finish, heard.told, body["model"]))

    def _body(self, request: Request) -> dict[str, Json]:
        messages = sendable([dict(m) for m in request.messages])
        if request.system:
            messages.insert(0, {"role": "system", "content": sendable(request.system)})
        # Vendors imitate the older name of the limit; OpenAI's newer models take only the newer one.
        at_home = (urlsplit(self._provider.address).hostname or "").endswith("openai.com")
        limit = "max_completion_tokens" if at_home else "max_tokens"
        body: dict[str, Json] = {
            "model": request.model or self._provider.model,
            "messages": messages,
            limit: request.max_tokens,
        }
        if request.tools:
            body["tools"] = [dict(t) for t in request.tools]
        if request.temperature is not None:
            body["temperature"] = request.temperature
        if request.schema is not None and self._provider.structured:
            shape = {"name": "answer", "schema": dict(request.schema), "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": shape}
        return {**body, **_apart(request.more)}


def _apart(more: Mapping[str, Json]) -> dict[str, Json]:
    """What the SDK has no name for goes through it untouched."""
    return {"extra_body": dict(more)} if more else {}


class _Heard:
    """What has come of a stream so far."""

    def __init__(self) -> None:
        self.finish = ""
        self.told: dict[str, Json] = {}
        self._text: list[str] = []
        self._thought: list[str] = []
        self._calls: dict[int, dict[str, str]] = {}
        self._role = "assistant"

    def take(self, chunk: dict[str, Json]) -> Iterator[StreamEvent]:
        """One chunk."""
        for name in ("model", "usage"):
            if chunk.get(name):
                self.told[name] = chunk[name]
        for choice in cast("list[dict[str, Json]]", chunk.get("choices") or [])[:1]:
            self.finish = choice.get("finish_reason") or self.finish
            delta = cast("dict[str, Json]", choice.get("delta") or {})
            thought = delta.get("reasoning_content") or delta.get("reasoning")
            if isinstance(thought, str) and thought:
                self._thought.append(thought)
                yield ReasoningDelta(thought)
            if isinstance(delta.get("content"), str) and delta["content"]:
                self._text.append(delta["content"])
                yield TextDelta(delta["content"])
            for place, call in enumerate(cast("list[dict[str, Json]]", delta.get("tool_calls") or [])):
                yield self._call(place, call)

    def _call(self, place: int, call: dict[str, Json]) -> CallDelta:
        index = call.get("index")
        at = index if isinstance(index, int) else place
        function = cast("dict[str, Json]", call.get("function") or {})
        known = self._calls.setdefault(at, {"id": "", "name": "", "arguments": ""})
        known["id"] = known["id"] or str(call.get("id") or "")
        known["name"] = known["name"] or str(function.get("name") or "")
        piece = str(function.get("arguments") or "")
        known["arguments"] += piece
        return CallDelta(at, known["id"], known["name"], piece)

    def message(self) -> dict[str, Json]:
        """The message that the pieces make, as it would have come in one."""
        out: dict[str, Json] = {"role": self._role, "content": "".join(self._text) or None}
        if self._thought:
            out["reasoning_content"] = "".join(self._thought)
        if self._calls:
            out["tool_calls"] = [
                {
                    "id": c["id"],
                    "type": "function",
                    "function": {"name": c["name"], "arguments": c["arguments"]},
                }
                for _, c in sorted(self._calls.items())
            ]
        return out


def _reply(message: Mapping[str, Json], finish: Json, told: Mapping[str, Json], asked: str) -> Reply:
    calls = tuple(
        ToolCall(
            str(c.get("id") or ""), str(c["function"].get("name") or ""), c["function"].get("arguments") or ""
        )
        for c in cast("list[dict[str, Json]]", message.get("tool_calls") or [])
        if isinstance(c.get("function"), Mapping)
    )
    thought = message.get("reasoning_content") or message.get("reasoning") or ""
    text = message.get("content")
    refusal = message.get("refusal")
    return Reply(
        text=text if isinstance(text, str) else "",
        model=str(told.get("model") or asked),
        finish="refused" if refusal else _FINISH.get(str(finish), "other"),
        usage=_usage(told.get("usage")),
        tool_calls=calls,
        reasoning=thought if isinstance(thought, str) else "",
        raw=dict(message),
    )


def _usage(told: Json) -> Usage:
    if not isinstance(told, Mapping):
        return Usage(known=False)
    usage = cast("Mapping[str, Json]", told)
    read = cast("Mapping[str, Json]", usage.get("prompt_tokens_details") or {})
    made = cast("Mapping[str, Json]", usage.get("completion_tokens_details") or {})
    whole = number(usage.get("prompt_tokens"))
    # DeepSeek and its kin say it beside, not inside.
    cached = number(read.get("cached_tokens")) or number(usage.get("prompt_cache_hit_tokens"))
    return Usage(
        input=whole,
        cached=min(cached, whole),
        written=min(number(read.get("cache_write_tokens")), whole),
        output=number(usage.get("completion_tokens")),
        reasoning=number(made.get("reasoning_tokens")),
    )
