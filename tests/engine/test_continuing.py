"""Whether a list goes on where a thread ends: told by ids of calls, or left open."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import backscroll
from backscroll.engine.calls.capture import take_in
from backscroll.engine.calls.continuation import known_part
from backscroll.engine.thread import Thread
from backscroll.vocab.foreign import ForeignMessage
from backscroll.vocab.message import Content
from backscroll.vocab.part import Part, Text, ToolCall, ToolResult


@pytest.fixture
def thread(tmp_path: Path) -> Iterator[Thread]:
    with backscroll.open(tmp_path / "s.db", background=False) as engine:
        yield engine.create("a program")


def said(role: str, *parts: Part | str) -> ForeignMessage:
    made = tuple(Text(p) if isinstance(p, str) else p for p in parts)
    return ForeignMessage(role, Content(made))  # type: ignore[arg-type]


def step(number: int) -> list[ForeignMessage]:
    """The same call with the same answer, at another time."""
    name = f"call_{number}"
    return [
        said("assistant", ToolCall(name, "test", "{}")),
        said("tool", ToolResult(name, (Text("all green"),))),
    ]


def put(thread: Thread, *messages: ForeignMessage) -> None:
    for message in messages:
        thread.append(message.role, message.content)


def shown(thread: Thread) -> list[str]:
    return [m.text or m.role for m in thread.messages()]


def test_repeated_call_with_a_new_id_is_a_new_step(thread: Thread) -> None:
    """A program sends only its newest turn, in which everything but the ids was there before: it is added, and nothing moves."""
    put(thread, said("user", "go"), *step(1), said("assistant", "done"), said("user", "go"), step(2)[0])
    before = shown(thread)
    newest = [said("user", "go"), *step(2)]
    assert known_part(thread, newest) == 2
    take_in(thread, "openai-chat", "gpt-4o", newest)
    assert shown(thread) == [*before, "tool"]
    take_in(thread, "openai-chat", "gpt-4o", newest)  # a second try of the same call
    assert shown(thread) == [*before, "tool"]


def test_known_part_of_whole_and_truncated_lists(thread: Thread) -> None:
    everything = [said("user", "go"), *step(1), *step(2), said("assistant", "done")]
    put(thread, *everything)
    assert known_part(thread, everything) == 6
    assert known_part(thread, [*everything[3:], said("user", "more")]) == 3


def test_known_part_is_none_if_uncertain(thread: Thread) -> None:
    """Without ids, with other text or ids, or with system messages between, `sync` decides."""
    put(thread, said("user", "go"), *step(1), said("assistant", "done"))
    assert known_part(thread, [said("assistant", "done"), said("user", "more")]) is None
    assert known_part(thread, [said("assistant", "done"), *step(2)]) is None
    assert known_part(thread, [*step(1), said("assistant", "quite done")]) is None
    assert known_part(thread, [said("user", "go"), *step(1)]) is None
    assert known_part(thread, [*step(1), said("assistant", "done"), said("system", "mind this")]) is None
    assert known_part(thread, []) is None
