"""Answers on the wire of Messages, whole and in pieces. Pure. Before: `spoken`. After: `server` sends them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping

from backscroll.llm.scripted.asked import Asked
from backscroll.llm.scripted.spoken import Spoken
from backscroll.vocab.part import Json

_FINISH: Mapping[str, str] = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tools": "tool_use",
    "refused": "refusal",
}


def whole(said: Spoken) -> Json:
    """The answer in one."""
    return {**_about(said), "content": _blocks(said), "stop_reason": _FINISH[said.finish]}


def events(said: Spoken, asked: Asked) -> Iterator[str]:  # noqa: ARG001 - all wires are called alike
    """The answer as the lines of a stream."""

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
        else:
            yield event("content_block_start", index=at, content_block={**block, "input": {}})
            for piece in said.pieces(json.dumps(block["input"], ensure_ascii=False)):
                delta = {"type": "input_json_delta", "partial_json": piece}
                yield event("content_block_delta", index=at, delta=delta)
        yield event("content_block_stop", index=at)
    ending = {"stop_reason": _FINISH[said.finish], "stop_sequence": None}
    yield event("message_delta", delta=ending, usage={"output_tokens": said.output})
    yield event("message_stop")


def _blocks(said: Spoken) -> list[dict[str, Json]]:
    out: list[dict[str, Json]] = []
    if said.reasoning:
        proof = hashlib.sha256(said.reasoning.encode("utf-8", "replace")).hexdigest()
        out.append({"type": "thinking", "thinking": said.reasoning, "signature": proof})
    if said.text:
        out.append({"type": "text", "text": said.text})
    out += [{"type": "tool_use", "id": c.id, "name": c.name, "input": dict(c.arguments)} for c in said.calls]
    return out


def _about(said: Spoken) -> dict[str, Json]:
    return {
        "id": f"msg_{said.number}",
        "type": "message",
        "role": "assistant",
        "model": said.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {
            # What was cached is counted apart here.
            "input_tokens": said.input - said.cached - said.written,
            "cache_creation_input_tokens": said.written,
            "cache_read_input_tokens": said.cached,
            "output_tokens": said.output,
        },
    }
