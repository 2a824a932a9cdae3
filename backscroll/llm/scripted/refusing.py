"""Prompts that the real services would refuse, and what they would say.

Owns asking the validity engine on behalf of a scripted service, so that a test against it fails where production would. Pure.
Before: `asked`. After: `deciding` answers 400.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from backscroll.llm.scripted.asked import Asked
from backscroll.vocab.part import Json


def flaw(asked: Asked) -> str:
    """The first reason to refuse a prompt; empty where there is none."""
    if asked.wire == "openai-chat":
        return _chat(cast("list[Json]", asked.body.get("messages") or []))
    return ""


def _chat(messages: list[Json]) -> str:
    """Results follow the calls that they answer, and every call has one."""
    waiting: set[str] = set()
    for n, entry in enumerate(messages):
        if not isinstance(entry, Mapping):
            return f"messages.[{n}] is not an object"
        message = cast("Mapping[str, Json]", entry)
        if message.get("role") == "tool":
            if message.get("tool_call_id") not in waiting:
                return f"messages.[{n}]: a tool message must follow the tool_calls that it answers"
            waiting.discard(str(message.get("tool_call_id")))
            continue
        if waiting:
            return f"messages.[{n}]: tool_calls without a tool message: {', '.join(sorted(waiting))}"
        calls = cast("list[Mapping[str, Json]]", message.get("tool_calls") or [])
        waiting = {str(call.get("id")) for call in calls}
    return f"tool_calls without a tool message: {', '.join(sorted(waiting))}" if waiting else ""
