"""Render answers on the Responses wire, whole and streamed. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator

from backscroll.testing.answer import MOMENT, ScriptedAnswer, total
from backscroll.testing.request import ScriptedRequest
from backscroll.vocab.part import Json


def whole(said: ScriptedAnswer) -> Json:
    """Return the whole answer."""
    return _response(said, _items(said), "incomplete" if said.finish == "length" else "completed")


def events(said: ScriptedAnswer, asked: ScriptedRequest) -> Iterator[str]:  # noqa: ARG001 - all wires are called alike
    """Yield the answer as the lines of a stream."""
    number = 0

    def event(kind: str, **data: Json) -> str:
        nonlocal number
        number += 1
        body = {"type": kind, "sequence_number": number - 1, **data}
        return f"event: {kind}\ndata: {json.dumps(body, ensure_ascii=False)}\n\n"

    begun = _response(said, [], "in_progress")
    yield event("response.created", response=begun)
    yield event("response.in_progress", response=begun)
    for at, item in enumerate(_items(said)):
        blank = _blank(item)
        yield event("response.output_item.added", output_index=at, item=blank)
        where = {"output_index": at, "item_id": item["id"]}
        if item["type"] == "message":
            part = item["content"][0]
            inner = {**where, "content_index": 0}
            yield event("response.content_part.added", **inner, part={**part, "text": ""})
            for piece in said.pieces(part["text"]):
                yield event("response.output_text.delta", **inner, delta=piece, logprobs=[])
            yield event("response.output_text.done", **inner, text=part["text"], logprobs=[])
            yield event("response.content_part.done", **inner, part=part)
        elif item["type"] == "function_call":
            for piece in said.pieces(item["arguments"]):
                yield event("response.function_call_arguments.delta", **where, delta=piece)
            yield event(
                "response.function_call_arguments.done",
                **where,
                name=item["name"],
                arguments=item["arguments"],
            )
        else:
            inner = {**where, "summary_index": 0}
            for piece in said.pieces(said.reasoning):
                yield event("response.reasoning_summary_text.delta", **inner, delta=piece)
            yield event("response.reasoning_summary_text.done", **inner, text=said.reasoning)
        yield event("response.output_item.done", output_index=at, item=item)
    last = "response.incomplete" if said.finish == "length" else "response.completed"
    yield event(last, response=whole(said))


def _items(said: ScriptedAnswer) -> list[dict[str, Json]]:
    out: list[dict[str, Json]] = []
    if said.reasoning:
        summary = [{"type": "summary_text", "text": said.reasoning}]
        out.append({"id": f"rs_{said.number}", "type": "reasoning", "summary": summary})
    if said.text or not said.calls:
        part: dict[str, Json] = {"type": "output_text", "text": said.text, "annotations": [], "logprobs": []}
        status = "incomplete" if said.finish == "length" and not said.calls else "completed"
        message = {"id": f"msg_{said.number}", "type": "message", "role": "assistant", "status": status}
        out.append({**message, "content": [part]})
    for n, call in enumerate(said.calls, 1):
        status = "incomplete" if said.is_half(n - 1) else "completed"
        about = {"id": f"fc_{said.number}_{n}", "type": "function_call", "status": status}
        out.append({**about, "call_id": call.id, "name": call.name, "arguments": said.arguments(n - 1)})
    return out


def _blank(item: dict[str, Json]) -> dict[str, Json]:
    """Return an item as announced, before its content."""
    kinds: dict[str, dict[str, Json]] = {"message": {"content": []}, "function_call": {"arguments": ""}}
    empty = kinds.get(item["type"], {"summary": []})
    status: dict[str, Json] = {"status": "in_progress"} if "status" in item else {}
    return {**item, **empty, **status}


def _response(said: ScriptedAnswer, items: list[dict[str, Json]], status: str) -> dict[str, Json]:
    why = {"reason": "max_output_tokens"} if status == "incomplete" else None
    return {
        "id": f"resp_{said.number}",
        "object": "response",
        "created_at": MOMENT,
        "status": status,
        "error": None,
        "incomplete_details": why,
        "instructions": None,
        "metadata": {},
        "model": said.model,
        "output": items,
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "usage": None if status == "in_progress" else _usage(said),
    }


def _usage(said: ScriptedAnswer) -> Json:
    return {
        "input_tokens": said.input,
        "input_tokens_details": {"cached_tokens": said.cached, "cache_write_tokens": said.written},
        "output_tokens": said.output,
        "output_tokens_details": {"reasoning_tokens": said.thought},
        "total_tokens": total(said.input, said.output),
    }
