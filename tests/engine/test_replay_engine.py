"""The adapter that replays sessions through `Thread.prompt`, on a session of its own: a strict service takes every request."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("bpe_openai")
from backscroll.engine.prompts import prefixes, rendering
from bench.replay_engine import Engine, Sealed

BUDGET = 4000


def session() -> list[dict[str, Any]]:
    """Files that are read one after the other, until far more than the budget was read."""
    out: list[dict[str, Any]] = [
        {"role": "system", "text": "You are careful.", "calls": [], "call_id": None},
        {"role": "user", "text": "Read all parts and say what is wrong.", "calls": [], "call_id": None},
    ]
    for n in range(24):
        call = {"id": f"c{n}", "name": "read", "args": f'{{"path": "src/part_{n}.py"}}'}
        lines = "\n".join(f"value_{n}_{i} = {i * n}" for i in range(90 if n % 5 else 300))
        out.append({"role": "assistant", "text": f"Now part {n}.", "calls": [call], "call_id": None})
        out.append({"role": "tool", "text": lines, "calls": [], "call_id": call["id"]})
    return out


def replayed(engine: Engine) -> Engine:
    """The engine after the whole session."""
    messages = session()
    engine.reset({"id": "own", "tools": ["read", "mcp.read"]})
    for at, message in enumerate(messages):
        if message["role"] == "assistant":
            engine.prompt(messages[:at], BUDGET)
    engine.close()
    return engine


@pytest.mark.parametrize("kind", [Engine, Sealed])
def test_replayed_prompts_are_accepted_and_only_grow(kind: type[Engine]) -> None:
    """Compactions happen, and all prompts between them only grow."""
    done = replayed(kind())
    assert done.compactions
    assert len(done.spent) == 24
    assert done.failures == []


def test_replay_refuses_thinking_behind_another_prefix(monkeypatch: pytest.MonkeyPatch) -> None:
    """The service in the adapter is strict: an engine that sends old thinking on after a compaction fails."""
    monkeypatch.setattr(prefixes.Prefix, "binds", lambda *_: True)
    done = replayed(Sealed())
    assert any("bound to a different conversation" in told for told in done.failures)


def test_replay_detects_a_changed_prefix(monkeypatch: pytest.MonkeyPatch) -> None:
    """A first block that changes with every call is a failure of growth."""
    real = rendering.PromptRenderer.render_blocks
    seen: list[int] = []

    def restless(job: Any, blocks: Any) -> Any:
        seen.append(1)
        out = real(job, blocks)
        out.messages[0] = {**out.messages[0], "content": f"Call {len(seen)}."}
        return out

    monkeypatch.setattr(rendering.PromptRenderer, "render_blocks", restless)
    assert replayed(Engine()).failures
