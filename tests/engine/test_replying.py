"""A model's answer into the log: unchanged, paid for, with calls that can be answered."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import backscroll
from backscroll.engine.budget.costs import calls, spending
from backscroll.engine.calls.replies import (
    at_work,
    find_unanswered,
    mark_at_work,
    record_reply,
    record_result,
    said_in,
)
from backscroll.engine.thread import Thread
from backscroll.llm.clients.client import Reply, Usage
from backscroll.vocab.part import Json, Reasoning, Text, ToolCall, ToolResult
from backscroll.vocab.prompt import Wire

_USAGE = Usage(input=120, cached=100, output=30)


@pytest.fixture
def thread(tmp_path: Path) -> Iterator[Thread]:
    with backscroll.open(tmp_path / "s.db", background=False) as engine:
        made = engine.create("t")
        made.append("user", "go")
        yield made


def chat(text: str, *ids: str) -> Reply:
    """A reply on the Chat Completions wire with calls of these ids."""
    raw: dict[str, Json] = {"role": "assistant", "content": text or None}
    if ids:
        raw["tool_calls"] = [
            {"id": i, "type": "function", "function": {"name": "look", "arguments": "{}"}} for i in ids
        ]
    made = tuple(ToolCall(i, "look", "{}") for i in ids)
    return Reply(text, "m", "tools" if ids else "stop", _USAGE, made, raw=raw)


def recorded(thread: Thread, reply: Reply, wire: Wire = "openai-chat"):
    return record_reply(thread, reply, wire, provider="p", model="gpt-4o", counted=110, turn=1)


def test_reply_and_charge_are_recorded_together(thread: Thread) -> None:
    done = recorded(thread, chat("hello"))
    said = thread.message(done.messages[0])
    assert (said.role, said.text, said.content.metadata["model"]) == ("assistant", "hello", "gpt-4o")
    only = next(iter(calls(thread.engine)))
    assert (only.input, only.cached, only.output, only.turn, only.thread) == (120, 100, 30, 1, thread.id)
    assert done.carrier is None
    assert not find_unanswered(thread)[1]


def test_unrecorded_reply_is_not_charged(thread: Thread) -> None:
    """The charge and the words are one transaction: where the words are refused, the ledger has no such call."""
    gone = Thread(thread.engine, "0" * 32)
    with pytest.raises(backscroll.BackscrollError):
        record_reply(gone, chat("x"), "openai-chat", provider="p", model="m")
    assert not spending(thread.engine) or spending(thread.engine)[0].calls == 0


@pytest.mark.parametrize("ids", [("", ""), ("a", "a"), ("", "a")])
def test_calls_without_a_unique_id_get_one(thread: Thread, ids: tuple[str, ...]) -> None:
    done = recorded(thread, chat("", *ids))
    names = [c.id for c in done.calls]
    assert len(set(names)) == len(names)
    assert all(names)
    assert [c.id for c in find_unanswered(thread)[1]] == names


def test_thinking_keeps_its_signature(thread: Thread) -> None:
    """Blocks of Anthropic go in as they came: the signature is still there when they are sent back."""
    blocks = [
        {"type": "thinking", "thinking": "hm", "signature": "sig=="},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "tu_1", "name": "look", "input": {"at": "x"}},
    ]
    reply = Reply("I look.", "m", "tools", _USAGE, (ToolCall("tu_1", "look", {"at": "x"}),), "hm", blocks)
    done = recorded(thread, reply, "anthropic")
    parts = thread.message(done.messages[0]).parts
    thought = next(p for p in parts if isinstance(p, Reasoning))
    assert thought.signature == "sig=="
    record_result(thread, ToolResult("tu_1", (Text("seen"),), name="look"), {"line": "seen"})
    prompt = thread.prompt(20_000, model="gpt-4o", wire="anthropic", tools=[])
    assert any("I look." in str(m["content"]) for m in prompt.messages)


def test_responses_items_become_messages_in_order(thread: Thread) -> None:
    items = [
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "zz"},
        {
            "type": "message",
            "id": "m1",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "so"}],
        },
        {"type": "function_call", "id": "f1", "call_id": "c1", "name": "look", "arguments": "{}"},
        {"type": "function_call", "id": "f2", "call_id": "c2", "name": "look", "arguments": "{}"},
    ]
    made = (ToolCall("c1", "look", "{}"), ToolCall("c2", "look", "{}"))
    done = recorded(thread, Reply("so", "m", "tools", _USAGE, made, raw=items), "openai-responses")
    assert len(done.messages) == 4
    assert done.carrier == done.messages[-1]
    record_result(thread, ToolResult("c1", (Text("1"),), name="look"), {})
    carrier, left = find_unanswered(thread)
    assert [c.id for c in left] == ["c2"]
    assert carrier == done.messages[-1]


def test_answer_of_unknown_shape_keeps_its_text() -> None:
    odd = Reply("words", "m", raw={"content": 5, "tool_calls": "?"})
    assert [c.text for c in said_in(odd, "openai-chat", "x")] == ["words"]


def test_running_call_is_marked_until_its_result(thread: Thread) -> None:
    done = recorded(thread, chat("", "c1"))
    mark_at_work(thread, done.calls[0], "snap")
    begun = at_work(thread)
    assert begun is not None
    assert (begun.call_id, begun.snapshot) == ("c1", "snap")
    record_result(thread, ToolResult("c1", (Text("done"),)), {})
    assert at_work(thread) is None
    assert find_unanswered(thread) == (None, [])


def test_find_unanswered_looks_at_the_last_step_only(thread: Thread) -> None:
    """An unanswered call of an earlier step is repaired in prompts but never run again."""
    recorded(thread, chat("", "old"))
    thread.append("user", "next")
    recorded(thread, chat("", "new"))
    assert [c.id for c in find_unanswered(thread)[1]] == ["new"]


def test_offline_answer_is_not_charged(thread: Thread) -> None:
    record_reply(thread, chat("from the record"), "openai-chat", provider="offline", model="", paid=False)
    assert thread.recent(1)[0].text == "from the record"
    assert not list(calls(thread.engine))
