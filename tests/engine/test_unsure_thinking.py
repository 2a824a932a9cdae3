"""Where it is not known what was sent (a fork, a copy, after forgetting), only thinking that can have been made under nothing else is sent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import backscroll
from backscroll import Content, Reasoning, Text, Thread, ToolCall, ToolResult
from backscroll.assemble.validity.binding import Sent, check_growth
from backscroll.engine.prompts.builder import Prompt, receipts

MODEL = "claude-fable-5-2"
TOOLS = [{"name": "Read", "input_schema": {"type": "object"}}]


@pytest.fixture
def thread(tmp_path: Path) -> Iterator[Thread]:
    """A conversation with one reply that is sure: it answered the prompt before it."""
    with backscroll.open(tmp_path / "store.db", background=False) as store:
        made = store.create("Harbour")
        made.append("system", "You keep the books.")
        made.append("user", "What is in the harbour?")
        ask(made)
        answer(made, 1)
        yield made


def ask(thread: Thread, budget: int = 8000) -> Prompt:
    return thread.prompt(budget, model=MODEL, wire="anthropic", reserve=0, tools=TOOLS, recall=False)


def answer(thread: Thread, number: int, *parts: Any) -> None:
    thought = Reasoning(f"Thought {number}.", signature=f"seal{number}")
    thread.append("assistant", Content((thought, *(parts or (Text("Yes."),))), metadata={"model": MODEL}))


def result(thread: Thread, call: str) -> None:
    thread.append("tool", [ToolResult(call, (Text(f"result of {call}"),), name="Read")])


def thoughts(made: Prompt) -> list[str]:
    blocks = [b for m in made.messages for b in m["content"] if isinstance(b, dict)]
    return [str(b["signature"]) for b in blocks if b.get("type") == "thinking"]


def in_fork(thread: Thread) -> list[str]:
    """What a fork sends back; and the thread itself, which knows what it sent, sends back the same or more."""
    fork = thread.fork()
    for one in (fork, thread):
        one.append("user", "And then?")
    made = ask(fork)
    found, lost = thoughts(made), sum("seal" in str(m.parts) for m in thread) - len(thoughts(made))
    assert made.receipt.broken == ({"cause": "doubted", "tokens": 0, "thinking": lost} if lost else {})
    assert set(found) <= set(thoughts(ask(thread)))
    answer(fork, 99)
    fork.append("user", "What else?")
    assert thoughts(ask(fork)) == [*found, "seal99"]  # a fork goes on as any thread does
    return found


def test_fork_sends_thinking_of_answered_turns_and_calls(thread: Thread) -> None:
    thread.append("user", "Read two files.")
    ask(thread)
    answer(thread, 2, ToolCall("c1", "Read", {}), ToolCall("c2", "Read", {}))
    result(thread, "c1")
    result(thread, "c2")
    ask(thread)
    answer(thread, 3)
    assert in_fork(thread) == ["seal1", "seal2", "seal3"]


def test_fork_drops_thinking_if_the_user_spoke_during_the_request(
    thread: Thread,
) -> None:
    thread.append("user", "Is there a crane?")
    ask(thread)
    thread.append("user", "Or a boat?")
    answer(thread, 2)
    assert in_fork(thread) == ["seal1"]


def test_forget_drops_thinking_if_the_user_spoke_during_the_request(
    thread: Thread,
) -> None:
    """After a forget it is no longer known what was sent."""
    fork = thread.fork()
    fork.append("user", "Is there a crane?")
    ask(fork)
    fork.append("user", "Or a boat?")
    answer(fork, 2)
    thread.append("user", "The key is under the mat.")
    thread.forget(list(thread)[-1].id)
    assert receipts(fork) == []
    fork.append("user", "And then?")
    assert thoughts(ask(fork)) == ["seal1"]


def test_fork_drops_thinking_of_a_second_reply_in_a_row(thread: Thread) -> None:
    """It answered another request, or none."""
    thread.append("user", "Is there a crane?")
    ask(thread)
    answer(thread, 2)
    answer(thread, 3)
    assert in_fork(thread) == ["seal1", "seal2"]


def test_fork_drops_thinking_if_a_placeholder_result_arrived_meanwhile(thread: Thread) -> None:
    thread.append("user", "Read two files.")
    ask(thread)
    answer(thread, 2, ToolCall("c1", "Read", {}), ToolCall("c2", "Read", {}))
    result(thread, "c1")
    ask(thread)
    result(thread, "c2")
    answer(thread, 3)
    assert in_fork(thread) == ["seal1", "seal2"]


def test_fork_drops_thinking_of_overlapping_requests(thread: Thread) -> None:
    """The second request had more text; it is unknown which one the reply answers."""
    thread.append("user", "Is there a crane?")
    ask(thread)
    thread.memory.add("The crane is red.")
    second = ask(thread)
    assert "The crane is red" in str(second.messages)
    answer(thread, 2)
    assert in_fork(thread) == ["seal1"]


def test_fork_drops_thinking_after_a_larger_prompt_of_another_wire(thread: Thread) -> None:
    thread.append("user", "Is there a crane?")
    ask(thread)
    thread.memory.add("The crane is red.")
    other = thread.prompt(8000, model="gpt-5.6", wire="openai-chat", reserve=0, recall=False)
    assert "The crane is red" in str(other.messages)
    answer(thread, 2)
    assert in_fork(thread) == ["seal1"]


def test_imported_copy_drops_the_same_thinking_as_a_fork(thread: Thread, tmp_path: Path) -> None:
    thread.append("user", "Is there a crane?")
    ask(thread)
    thread.memory.add("The crane is red.")
    ask(thread)
    answer(thread, 2)
    thread.engine.export(None, "native", str(tmp_path / "copy.jsonl"))
    with backscroll.open(tmp_path / "other.db", background=False) as store:
        store.import_path(tmp_path / "copy.jsonl")
        copy = store.thread(thread.id)
        copy.append("user", "And then?")
        assert thoughts(ask(copy)) == ["seal1"]


def test_edited_reply_does_not_send_its_thinking(thread: Thread) -> None:
    """Nor do later prompts; later replies keep theirs."""
    thread.append("user", "Is there a crane?")
    before = ask(thread)
    answer(thread, 2)
    thread.edit(list(thread)[-1].id, [Reasoning("Somebody's words.", signature="seal2"), Text("No.")])
    thread.append("user", "Sure?")
    made = ask(thread)
    assert thoughts(made) == ["seal1"]
    assert check_growth(sent(before), sent(made)) == []
    answer(thread, 3)
    thread.append("user", "And then?")
    assert thoughts(ask(thread)) == ["seal1", "seal3"]


@pytest.mark.parametrize("late", [False, True])
def test_answered_open_call_stays_until_the_next_compaction(thread: Thread, late: bool) -> None:
    """Whether the user speaks or its result comes: the prompt is the one before and something at its end."""
    thread.append("user", "Read on.")
    answer(thread, 2, ToolCall("lost", "Read", {}), ToolCall("told", "Read", {}))
    result(thread, "told")
    for n in range(120):
        answer(thread, n + 3, ToolCall(f"c{n}", "Read", {}))
        thread.append("tool", [ToolResult(f"c{n}", (Text(f"line {n} of the book. " * 40),), name="Read")])
    ask(thread, 2500)
    made = ask(thread, 2500)
    assert made.receipt.broken == {}
    assert any(block.reason == "unanswered" for block in made.blocks[:3])
    for _ in range(3):
        if late:
            result(thread, "lost")
        thread.append("user", "Stop.")
        after = ask(thread, 2500)
        assert after.receipt.broken == {}
        assert check_growth(sent(made), sent(after)) == []
        made, late = after, False
    thread.append("user", "A long list: " + "one more line of the book. " * 120)
    condensed = ask(thread, 2500)
    assert condensed.receipt.compaction
    assert not any(block.reason == "unanswered" for block in condensed.blocks)


def sent(made: Prompt) -> Sent:
    return Sent(made.messages, "anthropic", system=made.system, tools=list(made.tools), model=MODEL)
