"""Adapt to services that imitate the Chat Completions wire with differences.

Owns changing a request after a service rejected a field (remembered by the client), and reading tool calls and contents in
shapes that differ from the vendor's. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import cast

from backscroll.vocab.part import Json

#: Fields that a service may reject, by the word in its error message.
_COMPLAINTS = (
    "stream_options",
    "max_completion_tokens",
    "max_tokens",
    "reasoning_content",
    "parallel_tool_calls",
)


def complaint(said: str, body: Mapping[str, Json], known: frozenset[str]) -> str:
    """Return the field of a request that a service rejects and that can be omitted or changed; empty: unknown."""
    for name in _COMPLAINTS:
        if name in said and name not in known and adapt_request(body, frozenset({name})) != dict(body):
            return name
    return ""


def adapt_request(body: Mapping[str, Json], unwanted: frozenset[str]) -> dict[str, Json]:
    """Return a request without the fields that a service rejected."""
    out = dict(body)
    for name in ("stream_options", "parallel_tool_calls"):
        if name in unwanted:
            out.pop(name, None)
    # Some errors contain both names ("use max_completion_tokens instead"); then the newer one is wanted.
    if "max_completion_tokens" in unwanted and "max_tokens" in out:
        out["max_completion_tokens"] = out.pop("max_tokens")
    elif unwanted & {"max_completion_tokens", "max_tokens"} and "max_completion_tokens" in out:
        out["max_tokens"] = out.pop("max_completion_tokens")
    if "reasoning_content" in unwanted:
        out["messages"] = [
            {k: v for k, v in cast("Mapping[str, Json]", m).items() if k != "reasoning_content"}
            for m in cast("list[Json]", out["messages"])
        ]
    return out


def words_of(content: Json) -> str:
    """Return the text of a content: a string, or the text parts of a list."""
    if isinstance(content, str):
        return content
    return "".join(
        str(p.get("text") or "") for p in _parts(content) if p.get("type") in ("text", "output_text")
    )


def thought_of(message: Mapping[str, Json]) -> str:
    """Return the reasoning in a message or chunk, under any of its names."""
    for name in ("reasoning_content", "reasoning"):
        told = message.get(name)
        if isinstance(told, str) and told:
            return told
    thinking = [p.get("thinking") for p in _parts(message.get("content")) if p.get("type") == "thinking"]
    return "".join(words_of(told) for told in thinking)


def _parts(content: Json) -> list[Mapping[str, Json]]:
    found = cast("list[Json]", content) if isinstance(content, list) else []
    return [cast("Mapping[str, Json]", p) for p in found if isinstance(p, Mapping)]


def arguments_of(told: Json) -> str:
    """Return the arguments of a call as text, as the wire specifies; some services send an object."""
    if told is None:
        return ""
    return told if isinstance(told, str) else json.dumps(told, ensure_ascii=False)
