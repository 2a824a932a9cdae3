"""Parse what Anthropic's wire sends: stream events and whole messages.

Owns assembling a streamed message into its unstreamed form, signatures of thinking included. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import cast

from backscroll.errors import CutShort
from backscroll.llm.clients.client import (
    CallDelta,
    Finish,
    ReasoningDelta,
    Reply,
    StreamEvent,
    Tally,
    TextDelta,
    Usage,
)
from backscroll.llm.clients.faults import in_stream
from backscroll.llm.clients.sdk import mappings, number, sound
from backscroll.vocab.part import Json, ToolCall

_FINISH: Mapping[str, Finish] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tools",
    "refusal": "refused",
}


class AnthropicStreamState:
    """The state of a stream so far."""

    def __init__(self, provider: str, model: str) -> None:
        self.ended = False
        self._provider = provider
        self._model = model
        self._told: dict[str, Json] = {}
        self._blocks: dict[int, dict[str, Json]] = {}
        self._arguments: dict[int, str] = {}

    def take(self, event: Mapping[str, Json]) -> Iterator[StreamEvent]:
        """Process one event."""
        match event.get("type"):
            case "message_start":
                self._told = dict(event["message"])
                if self._told.get("usage"):
                    yield Tally(usage_of(self._told["usage"]))
            case "content_block_start":
                yield from self._start(event["index"], dict(event["content_block"]))
            case "content_block_delta":
                yield from self._delta(event["index"], event["delta"])
            case "message_delta":
                self._told.update(event.get("delta") or {})
                told: dict[str, Json] = self._told.get("usage") or {}
                last = cast("dict[str, Json]", event.get("usage") or {})
                # Fields that are empty at the end were sent at the beginning.
                self._told["usage"] = {**told, **{k: v for k, v in last.items() if v is not None}}
            case "message_stop":
                self.ended = True
            case "error":
                raise in_stream(event, provider=self._provider, model=self._model)
            case _:
                return  # a ping, or an unknown newer event

    def _start(self, index: int, block: dict[str, Json]) -> Iterator[StreamEvent]:
        self._blocks[index] = block
        if block.get("type") == "tool_use":
            self._arguments[index] = ""
            yield CallDelta(index, str(block.get("id") or ""), str(block.get("name") or ""), "")
        elif block.get("type") == "text" and block.get("text"):
            yield TextDelta(block["text"])

    def _delta(self, index: int, delta: Mapping[str, Json]) -> Iterator[StreamEvent]:
        block = self._blocks.setdefault(index, {"type": "text", "text": ""})
        match delta.get("type"):
            case "text_delta":
                block["text"] = str(block.get("text") or "") + delta["text"]
                yield TextDelta(delta["text"])
            case "thinking_delta":
                block["thinking"] = str(block.get("thinking") or "") + delta["thinking"]
                yield ReasoningDelta(delta["thinking"])
            case "signature_delta":
                block["signature"] = str(block.get("signature") or "") + delta["signature"]
            case "input_json_delta":
                piece = str(delta.get("partial_json") or "")
                self._arguments[index] = self._arguments.get(index, "") + piece
                yield CallDelta(index, str(block.get("id") or ""), str(block.get("name") or ""), piece)
            case "citations_delta":
                block["citations"] = [*(block.get("citations") or []), delta["citation"]]
            case _:
                return  # later content replaces it

    def message(self) -> dict[str, Json]:
        """Return the assembled message. A call truncated at the limit keeps its partial arguments as text; a partial call of
        an abandoned stream is dropped.
        """
        blocks: list[Json] = []
        limited = _FINISH.get(str(self._told.get("stop_reason"))) == "length"
        for index, block in sorted(self._blocks.items()):
            made = dict(block)
            if index in self._arguments:
                text = self._arguments[index]
                made["input"] = _arguments(text)
                if made["input"] is None and not self.ended:
                    continue
                if made["input"] is None and not limited:
                    raise CutShort("the arguments of a tool call broke off", hint="try again")
                made["input"] = text if made["input"] is None else made["input"]
            blocks.append(made)
        return {**self._told, "content": blocks}


def _arguments(text: str) -> Json:
    """Return the arguments that a text holds; None if it is truncated."""
    try:
        return json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError):
        return None


def reply_of(told: Mapping[str, Json], asked: str) -> Reply:
    """Return the reply in a whole message."""
    found = mappings(told.get("content"))
    finish = _FINISH.get(str(told.get("stop_reason")), "other")
    used = [b for b in found if b.get("type") == "tool_use"]
    cut = {n for n, b in enumerate(used) if isinstance(b.get("input"), str)}
    if finish == "length" and used and found[-1] is used[-1]:
        cut.add(len(used) - 1)  # an unstreamed answer does not show how much of its last call arrived
    return Reply(
        text="".join(str(b.get("text") or "") for b in found if b.get("type") == "text"),
        model=str(told.get("model") or asked),
        finish=finish,
        usage=usage_of(told.get("usage")),
        tool_calls=tuple(ToolCall(str(b.get("id")), str(b.get("name")), b.get("input")) for b in used),
        reasoning="\n".join(str(b.get("thinking") or "") for b in found if b.get("type") == "thinking"),
        raw=[dict(b) for b in found],
        cut=tuple(sorted(cut)),
    )


@sound
def usage_of(usage: Mapping[str, Json]) -> Usage:
    """Return our usage: Anthropic's input excludes cached tokens, ours is the whole prompt."""
    cached = number(usage.get("cache_read_input_tokens"))
    written = number(usage.get("cache_creation_input_tokens"))
    return Usage(
        input=number(usage.get("input_tokens")) + cached + written,
        cached=cached,
        written=written,
        output=number(usage.get("output_tokens")),
    )
