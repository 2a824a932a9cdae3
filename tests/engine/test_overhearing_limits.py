"""Programs whose limits, answers and figures are odd: what they said is recorded, and what is sent fits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import backscroll
from backscroll.engine.calls.capture import StreamPieces, assemble_request, overhear, record_answer
from backscroll.vocab.message import cut_calls, is_cut

HELLO: dict[str, Any] = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hello"}]}


@pytest.mark.parametrize("figure", [-5, 1e30, "many", [1], 5 * 10**9], ids=repr)
def test_answer_is_recorded_despite_invalid_usage(tmp_path: Path, figure: Any) -> None:
    with backscroll.open(tmp_path / "s.db", background=False) as engine:
        thread = engine.create("t")
        heard = overhear(thread, "openai-chat", HELLO)
        message = {"role": "assistant", "content": "half an"}
        told = {
            "choices": [{"message": message, "finish_reason": "length"}],
            "usage": {"prompt_tokens": figure},
        }
        record_answer(thread, heard, told, provider="p")
        assert thread.message(-1).text == "half an"
        assert is_cut(thread.message(-1))


def test_cut_streamed_call_is_recorded_as_cut(tmp_path: Path) -> None:
    pieces = StreamPieces("anthropic", "claude-sonnet-4-5")
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {"role": "assistant", "content": []}},
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "tool_use", "id": "c1", "name": "write", "input": {}},
        },
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "input_json_delta", "partial_json": '{"a": "be'},
        },
    ]
    for event in events:
        pieces.take(event)
    assert pieces.response()["content"] == []  # left in the middle: half a call is left out
    pieces.take({"type": "message_delta", "delta": {"stop_reason": "max_tokens"}})
    pieces.take({"type": "message_stop"})
    with backscroll.open(tmp_path / "s.db", background=False) as engine:
        thread = engine.create("t")
        heard = overhear(thread, "anthropic", {**HELLO, "model": "claude-sonnet-4-5"})
        record_answer(thread, heard, pieces.response(), provider="p")
        assert cut_calls(thread.message(-1)) == {"c1"}


def test_requested_output_limit_is_kept_within_the_window(tmp_path: Path) -> None:
    with backscroll.open(tmp_path / "s.db", background=False) as engine:
        thread = engine.create("t")
        for n in range(200):
            thread.append("user", f"question {n} " + "about tides and harbours " * 12)
            thread.append("assistant", "It depends. " * 20)
        thread.append("user", "and now?")
        body = {"model": "gpt-4", "messages": [], "max_tokens": 8000}
        sent = assemble_request(thread, "openai-chat", body)
        assert sent["messages"]
        assert 500 < sent["max_tokens"] < 8000
        # A longer answer than the budget for prompts is no reason not to assemble one.
        body = {"model": "claude-sonnet-4-5", "messages": [], "max_tokens": 64_000}
        sent = assemble_request(thread, "anthropic", body, 32_000)
        assert sent["messages"]
        assert sent["max_tokens"] == 64_000
