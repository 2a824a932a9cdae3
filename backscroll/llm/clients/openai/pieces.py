"""Assemble streamed Chat Completions chunks into the message they would form unstreamed.

Owns the chunks, in the vendor's shape and those of its imitators: reasoning under either name, calls without
ids or without indexes or all with the same one, arguments as objects, usage in any chunk.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from typing import cast

from backscroll.llm.clients.client import CallDelta, ReasoningDelta, StreamEvent, TextDelta
from backscroll.llm.clients.dialects import arguments_of, thought_of, words_of
from backscroll.llm.clients.sdk import mappings
from backscroll.vocab.part import Json


def new_id() -> str:
    """Return an id for a call that came without one."""
    return f"call_{secrets.token_hex(8)}"


class OpenAIStreamState:
    """The state of a stream so far."""

    def __init__(self) -> None:
        self.finish = ""
        self.began = False  # text, reasoning or calls have arrived
        self.told: dict[str, Json] = {}
        self._text: list[str] = []
        self._parse_thought: list[str] = []
        self._details: list[Json] = []  # OpenRouter's own record of the reasoning, to be sent back unchanged
        self._calls: list[dict[str, str]] = []
        self._arguments: list[list[str]] = []  # of the calls, in pieces: a long file arrives in very many
        self._places: dict[int, int] = {}  # the service's index -> the call that it currently means
        self._refusal: list[str] = []

    def take(self, chunk: Mapping[str, Json]) -> Iterator[StreamEvent]:
        """Process one chunk."""
        if chunk.get("model"):
            self.told["model"] = chunk["model"]
        usage: Json = chunk.get("usage")
        for beside in mappings([chunk.get("x_groq")]):
            usage = usage or beside.get("usage")
        for choice in mappings(chunk.get("choices"))[:1]:
            self.finish = str(choice.get("finish_reason") or "") or self.finish
            usage = usage or choice.get("usage")  # Moonshot
            # Some send the last piece as a whole message.
            delta = choice.get("delta") or choice.get("message")
            if isinstance(delta, Mapping):
                yield from self._delta(cast("Mapping[str, Json]", delta))
        if usage:
            self.told["usage"] = usage

    def _delta(self, delta: Mapping[str, Json]) -> Iterator[StreamEvent]:
        thought, words = thought_of(delta), words_of(delta.get("content"))
        self._details += mappings(delta.get("reasoning_details"))
        if isinstance(delta.get("refusal"), str):
            self._refusal.append(delta["refusal"])
        if thought:
            self.began = True
            self._parse_thought.append(thought)
            yield ReasoningDelta(thought)
        if words:
            self.began = True
            self._text.append(words)
            yield TextDelta(words)
        for call in mappings(delta.get("tool_calls")):
            self.began = True
            yield self._call(call)

    def _call(self, call: Mapping[str, Json]) -> CallDelta:
        function = call.get("function")
        inner: Mapping[str, Json] = (
            cast("Mapping[str, Json]", function) if isinstance(function, Mapping) else {}
        )
        given, name = str(call.get("id") or ""), str(inner.get("name") or "")
        at = self._place(call.get("index"), given, name)
        known = self._calls[at]
        known["name"] = known["name"] or name
        piece = arguments_of(inner.get("arguments"))
        self._arguments[at].append(piece)
        return CallDelta(at, known["id"], known["name"], piece)

    def _place(self, index: Json, given: str, name: str) -> int:
        """Return the call that a piece belongs to: by index, unless a different id or name starts a new call."""
        key = index if isinstance(index, int) else -1
        at = self._places.get(key)
        if at is not None:
            known = self._calls[at]
            another = bool(given) and given != known["given"] and bool(name)
            # Without ids and indexes, only a name marks the start of the next call.
            unnamed = key < 0 and not given and bool(name) and bool(known["name"])
            if not another and not unnamed:
                return at
        self._calls.append({"id": given or new_id(), "given": given, "name": ""})
        self._arguments.append([])
        self._places[key] = len(self._calls) - 1
        return self._places[key]

    def message(self) -> dict[str, Json]:
        """Return the assembled message in its unstreamed form."""
        out: dict[str, Json] = {"role": "assistant", "content": "".join(self._text) or None}
        if self._refusal:
            out["refusal"] = "".join(self._refusal)
        if self._parse_thought:
            out["reasoning_content"] = "".join(self._parse_thought)
        if self._details:
            out["reasoning_details"] = self._details
        if self._calls:
            out["tool_calls"] = [
                {
                    "id": c["id"],
                    "type": "function",
                    "function": {"name": c["name"], "arguments": "".join(written)},
                }
                for c, written in zip(self._calls, self._arguments, strict=True)
            ]
        return out
