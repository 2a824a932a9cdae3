"""Detect prompts that the real services would reject, with their reasons.

Uses the validity engine on behalf of a scripted service, so that a test against it fails where production would. Mere extra
cost is not a reason to reject.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from backscroll.assemble.validity import check
from backscroll.testing.request import ScriptedRequest
from backscroll.vocab.part import Json

_OWN = ("messages", "input", "system", "instructions", "tools", "model", "stream", "stream_options")


def flaw(asked: ScriptedRequest, betas: Sequence[str] | None = None) -> str:
    """Return the first reason to reject a prompt; empty if there is none. `betas`: those that the request names, if known."""
    body = asked.body
    responses = asked.wire == "openai-responses"
    messages: Json = body.get("input" if responses else "messages")
    odd = _no_list(messages, responses=responses)
    if odd:
        return odd
    if asked.wire != "anthropic" and body.get("tools") == []:
        return "tools: an empty list; leave it out where there are none"
    options: Mapping[str, Json] = {k: v for k, v in body.items() if k not in _OWN}
    if betas is not None:
        options = {**options, "betas": list(betas)}
    found = check(
        messages,
        asked.wire,
        system=body.get("instructions" if responses else "system"),
        tools=cast("list[Json]", body.get("tools") or []),
        model=asked.model or None,
        options=options,
    )
    worst = next((f for f in found if f.rule.severity == "error"), None)
    return "" if worst is None else f"{worst.where}: {worst.what} ({worst.rule.id})"


def _no_list(messages: Json, *, responses: bool) -> str:
    """Return the flaw of messages that are not a list of objects."""
    if responses and isinstance(messages, str):
        return ""
    if not isinstance(messages, list):
        return "messages: a list is required"
    entries = cast("list[Json]", messages)
    return next(
        (f"messages[{n}]: not an object" for n, m in enumerate(entries) if not isinstance(m, Mapping)), ""
    )
