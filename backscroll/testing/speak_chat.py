"""Render answers on the Chat Completions wire, whole and streamed. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from backscroll.testing.answer import MOMENT, ScriptedAnswer, total
from backscroll.testing.request import ScriptedRequest
from backscroll.vocab.part import Json

_FINISH: Mapping[str, str] = {
    "stop": "stop",
    "length": "length",
    "tools": "tool_calls",
    "refused": "content_filter",
}


def whole(said: ScriptedAnswer) -> Json:
    """Return the whole answer."""
    message: dict[str, Json] = {"role": "assistant", "content": said.text or None, "refusal": None}
    if said.reasoning:
        message["reasoning_content"] = said.reasoning
    if said.calls:
        message["tool_calls"] = [
            {
                "id": c.id,
                "type": "function",
                "function": {"name": c.name, "arguments": said.arguments(n)},
            }
            for n, c in enumerate(said.calls)
        ]
    choice = {"index": 0, "message": message, "finish_reason": _FINISH[said.finish], "logprobs": None}
    return {**_about(said, "chat.completion"), "choices": [choice], "usage": _usage(said)}


def events(said: ScriptedAnswer, asked: ScriptedRequest) -> Iterator[str]:
    """Yield the answer as the lines of a stream."""

    def chunk(delta: Json, finish: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return _event({**_about(said, "chat.completion.chunk"), "choices": [choice]})

    yield chunk({"role": "assistant", "content": ""})
    for piece in said.pieces(said.reasoning):
        yield chunk({"reasoning_content": piece})
    for piece in said.pieces(said.text):
        yield chunk({"content": piece})
    for n, call in enumerate(said.calls):
        begin = {
            "index": n,
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": ""},
        }
        yield chunk({"tool_calls": [begin]})
        for piece in said.pieces(said.arguments(n)):
            yield chunk({"tool_calls": [{"index": n, "function": {"arguments": piece}}]})
    yield chunk({}, _FINISH[said.finish])
    if asked.wants_usage:
        yield _event({**_about(said, "chat.completion.chunk"), "choices": [], "usage": _usage(said)})
    yield "data: [DONE]\n\n"


def _event(data: Json) -> str:
    return f"data: {json.dumps(data, ensure_ascii=False)}\n\n"


def _about(said: ScriptedAnswer, kind: str) -> dict[str, Json]:
    return {"id": f"chatcmpl-{said.number}", "object": kind, "created": MOMENT, "model": said.model}


def _usage(said: ScriptedAnswer) -> Json:
    return {
        "prompt_tokens": said.input,
        "completion_tokens": said.output,
        "total_tokens": total(said.input, said.output),
        "prompt_tokens_details": {"cached_tokens": said.cached},
        "completion_tokens_details": {"reasoning_tokens": said.thought},
    }
