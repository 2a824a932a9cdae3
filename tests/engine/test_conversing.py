"""Items of the Responses wire in and out of a thread, and what a program's own list holds of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import backscroll
from backscroll.engine.calls import conversation as conversing
from backscroll.engine.calls.instructions import instruct
from backscroll.engine.thread import Thread
from backscroll.vocab.message import Content, Message


@pytest.fixture
def thread(tmp_path: Path) -> Iterator[Thread]:
    with backscroll.open(tmp_path / "s.db", background=False) as engine:
        yield engine.create("a program")


TEXTS = st.text(alphabet=st.characters(codec="utf-8"), max_size=12)
JSONS = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)
KINDS = st.sampled_from(
    ["message", "function_call", "function_call_output", "reasoning", "computer_call", "item_reference", "x"]
)
NAMES = st.sampled_from(
    ["role", "content", "call_id", "name", "arguments", "output", "summary", "id", "status"]
)
ITEMS = st.builds(
    lambda kind, role, more: {**more, **({"type": kind} if kind else {}), **({"role": role} if role else {})},
    st.none() | KINDS,
    st.sampled_from([None, "user", "assistant", "system", "developer"]),
    st.dictionaries(NAMES, JSONS, max_size=5),
)


#: A thread for messages without attachments: it has no bytes to look up.
ALONE: Any = SimpleNamespace(engine=SimpleNamespace(blob=lambda _: None))


@settings(max_examples=150, deadline=None)
@given(ITEMS)
def test_any_item_is_the_same_after_both_ways(item: dict[str, Any]) -> None:
    """Known or not, well-formed or not: what a framework adds is what it gets back."""
    heard = conversing.heard_item(item)
    message: Any = Message(None, heard.role, None, heard.content, "")  # type: ignore[arg-type]
    assert conversing.told_items(ALONE, message) == [item]


def test_lone_surrogates_are_kept(thread: Thread) -> None:
    item = {"role": "user", "content": "half \ud83d of a sign"}
    conversing.add_items(thread, [item])
    assert conversing.newest_items(thread) == [item]


def test_item_list_leaves_out_our_system_prompt_and_hidden_messages(thread: Thread) -> None:
    instruct(thread, "You are a gardener.")
    thread.append("system", "a note of the program's own")
    thread.append("user", "hello")
    thread.hide(thread.append("user", "a secret").id)
    thread.append("assistant", Content(()))
    assert [m.text for m in conversing.iterate_spoken(thread)] == ["a note of the program's own", "hello", ""]
    assert [i["role"] for i in conversing.newest_items(thread)] == ["developer", "user"]


def test_pop_skips_messages_without_an_item(thread: Thread) -> None:
    thread.append("user", "hello")
    thread.append("assistant", backscroll.Reasoning("only thoughts, without a proof"))
    popped = conversing.pop_item(thread)
    assert popped is not None
    assert popped["role"] == "user"
    assert conversing.pop_item(thread) is None


def test_give_back_undoes_only_changes_of_the_program(thread: Thread) -> None:
    """A person's own edits are theirs: a program's undo does not touch them."""
    assert not conversing.give_back(thread)
    message = thread.append("user", "hello")
    thread.edit(message.id, "hello there")
    assert not conversing.give_back(thread)
    assert conversing.clear(thread) == 1
    assert conversing.give_back(thread)
    assert [m.text for m in thread.messages()] == ["hello there"]
