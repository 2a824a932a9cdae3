"""The policy in the replay harness: no fault on recorded sessions, where they are at hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("bpe_openai")
from bench.replay_policy import Policy, count

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "replay"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the recorded sessions are not here")


def sessions() -> list[list[dict[str, Any]]]:
    """The first recorded session of each source."""
    out: list[list[dict[str, Any]]] = []
    for file in sorted(DATA.glob("*.jsonl")):
        with file.open(encoding="utf-8") as lines:
            out.append(json.loads(next(lines))["messages"])
    return out


def size(message: dict[str, Any]) -> int:
    """Tokens of a message, as the harness counts them."""
    calls = sum(count(c["name"]) + count(c["args"]) + 2 for c in message["calls"])
    return 4 + count(message["text"]) + calls


def loose_ends(prompt: list[dict[str, Any]]) -> int:
    """Results without their call directly before them, and calls without a result."""
    errors, waiting = 0, set[str]()
    for message in prompt:
        if message["role"] == "tool":
            errors += message["call_id"] not in waiting
            waiting.discard(message["call_id"])
        else:
            errors += len(waiting)
            waiting = {c["id"] for c in message["calls"]}
    return errors + len(waiting)


def test_prompts_of_recorded_sessions_are_valid_and_fit() -> None:
    """Within budget, pairs whole, the newest message last, and mostly the prompt only grows at its end."""
    budget, calls, rewritten = 8000, 0, 0
    for messages in sessions():
        policy = Policy()
        policy.reset({"id": "x", "source": "x", "budget": budget})
        before: list[dict[str, Any]] = []
        for at, message in enumerate(messages):
            if message["role"] != "assistant":
                continue
            history = messages[:at]
            prompt, extra = policy.prompt(history, budget)
            assert extra == []
            assert sum(map(size, prompt)) <= budget
            assert loose_ends(prompt) == 0
            if history:
                last = (prompt[-1]["role"], prompt[-1]["call_id"])
                assert last == (history[-1]["role"], history[-1]["call_id"])
            calls += 1
            rewritten += prompt[: len(before)] != before
            before = prompt
    assert calls > 50
    assert rewritten < calls / 5
