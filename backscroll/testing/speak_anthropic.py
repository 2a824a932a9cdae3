"""Render answers on the Messages wire, whole and streamed. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from backscroll.testing.answer import ScriptedAnswer, total
from backscroll.testing.request import ScriptedRequest
from backscroll.testing.seals import transformations
from backscroll.vocab.part import Json

_FINISH: Mapping[str, str] = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tools": "tool_use",
    "refused": "refusal",
}


def whole(said: ScriptedAnswer) -> Json:
    """Return the whole answer."""
    return {**_about(said), "content": _blocks(said), "stop_reason": _FINISH[said.finish]}


def events(said: ScriptedAnswer, asked: ScriptedRequest) -> Iterator[str]:  # noqa: ARG001 - all wires are called alike
    """Yield the answer as the lines of a stream."""

    def event(kind: str, **data: Json) -> str:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **data}, ensure_ascii=False)}\n\n"

    begun = _about(said)
    begun["usage"] = {**begun["usage"], "output_tokens": 1}
    yield event("message_start", message=begun)
    yield event("ping")
    for at, block in enumerate(_blocks(said)):
        if block["type"] == "text":
            yield event("content_block_start", index=at, content_block={"type": "text", "text": ""})
            for piece in said.pieces(block["text"]):
                yield event("content_block_delta", index=at, delta={"type": "text_delta", "text": piece})
        elif block["type"] == "thinking":
            empty = {"type": "thinking", "thinking": "", "signature": ""}
            yield event("content_block_start", index=at, content_block=empty)
            for piece in said.pieces(block["thinking"]):
                yield event(
                    "content_block_delta", index=at, delta={"type": "thinking_delta", "thinking": piece}
                )
            proof = {"type": "signature_delta", "signature": block["signature"]}
            yield event("content_block_delta", index=at, delta=proof)
        elif block["type"] == "redacted_thinking":
            yield event("content_block_start", index=at, content_block=block)
        else:
            yield event("content_block_start", index=at, content_block={**block, "input": {}})
            place = [c.id for c in said.calls].index(block["id"])
            for piece in said.pieces(said.arguments(place)):
                delta = {"type": "input_json_delta", "partial_json": piece}
                yield event("content_block_delta", index=at, delta=delta)
        yield event("content_block_stop", index=at)
    ending = {"stop_reason": _FINISH[said.finish], "stop_sequence": None}
    yield event("message_delta", delta=ending, usage={"output_tokens": said.output})
    yield event("message_stop")


def _blocks(said: ScriptedAnswer) -> list[dict[str, Json]]:
    out: list[dict[str, Json]] = []
    if said.reasoning:
        if said.redacted:
            out.append({"type": "redacted_thinking", "data": said.seal})
        else:
            out.append({"type": "thinking", "thinking": said.reasoning, "signature": said.seal})
    if said.text:
        out.append({"type": "text", "text": said.text})
    for n, call in enumerate(said.calls):
        given = _began(call.arguments, said.arguments(n)) if said.is_half(n) else dict(call.arguments)
        out.append({"type": "tool_use", "id": call.id, "name": call.name, "input": given})
    return out


def _began(arguments: Mapping[str, Json], half: str) -> dict[str, Json]:
    """Return the partial arguments of a cut call in an unstreamed answer: the fields so far, the last text perhaps cut."""
    out: dict[str, Json] = {}
    for name, value in arguments.items():
        whole = f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}"
        _, found, rest = half.partition(f"{json.dumps(name)}: ")
        if whole in half:
            out[name] = value
        elif found and isinstance(value, str):
            out[name] = value[: len(rest)]
    return out


def _about(said: ScriptedAnswer) -> dict[str, Json]:
    changed = {"input_transformations": transformations(said.dropped)} if said.dropped else {}
    return {
        "id": f"msg_{said.number}",
        "type": "message",
        "role": "assistant",
        "model": said.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {
            # Cached tokens are counted separately here.
            "input_tokens": total(said.input, -said.cached, -said.written),
            "cache_creation_input_tokens": said.written,
            "cache_read_input_tokens": said.cached,
            "output_tokens": said.output,
        },
        **changed,
    }
