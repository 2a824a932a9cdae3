"""Thinking is sent back only while all that stood before it stands there still, cuts inside the past included."""

from __future__ import annotations

from pathlib import Path

import backscroll
from backscroll import Reasoning, Text, ToolCall, ToolResult
from backscroll.assemble.validity.binding import Sent, check_binding
from backscroll.engine.prompts.builder import Prompt
from backscroll.vocab.message import Content

MODEL = "claude-fable-5-2"
TOOLS = [{"name": "Read", "input_schema": {"type": "object"}}]


def sent(made: Prompt) -> Sent:
    """A prompt as a request that was sent."""
    return Sent(made.messages, "anthropic", system=made.system, tools=list(made.tools), model=MODEL)


def test_cutting_a_giant_result_drops_thinking_bound_to_it(tmp_path: Path) -> None:
    """Replies made after the cut keep their thinking; every request is accepted."""
    with backscroll.open(tmp_path / "store.db", background=False) as store:
        thread = store.create("bound")
        thread.append("system", "You are careful.")
        thread.append("user", "Read the files and say what is wrong.")
        before: list[Sent] = []
        cuts = thoughts = 0
        for n in range(12):
            made = thread.prompt(8000, model=MODEL, wire="anthropic", reserve=0, tools=TOOLS, recall=False)
            cuts += bool(made.receipt.compaction.get("trimmed"))
            thoughts += str(made.messages).count("'thinking'")
            now = sent(made)
            assert check_binding(before, now) == []
            before.append(now)
            call = ToolCall(f"c{n}", "Read", {"path": f"src/part{n}.py"})
            parts = (Reasoning(f"Thought {n}.", signature=f"seal{n}"), Text(f"Step {n}."), call)
            thread.append("assistant", Content(parts, metadata={"model": MODEL}))
            lines = "\n".join(f"value_{n}_{i} = {i * n}" for i in range(400 if n % 3 == 1 else 5))
            thread.append("tool", [ToolResult(call.id, (Text(lines),), name="Read")])
        assert cuts
        assert thoughts
