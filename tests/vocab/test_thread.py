"""Turns and steps as a reader sees them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.vocab.ids import Ref
from backscroll.vocab.message import ROLES, Content, Message, Role
from backscroll.vocab.part import Text, ToolCall, ToolResult
from backscroll.vocab.thread import ThreadInfo, Turn

AT = "2024-05-01T10:00:00+00:00"


def said(number: int, role: Role, text: str = "") -> Message:
    """The message that event `number` appended."""
    ref = Ref("a" * 32, number)
    return Message(ref, role, ref, Content((Text(text or f"{role} {number}"),)), AT)


def a_turn(*roles: Role, sequence: int = 1) -> Turn:
    """A turn of these roles, numbered from 1."""
    return Turn("id", sequence, AT, tuple(said(n, role) for n, role in enumerate(roles, 1)), "version")


def shape(turn: Turn) -> list[list[int]]:
    """The numbers of the messages of each step."""
    return [[m.id.seq for m in step.messages] for step in turn.steps]


def test_reply_is_in_one_step_with_the_results_of_its_calls() -> None:
    """A step continues until the next reply; the question belongs to the first."""
    turn = a_turn("user", "assistant", "tool", "tool", "assistant", "tool", "assistant")
    assert shape(turn) == [[1, 2, 3, 4], [5, 6], [7]]


@pytest.mark.parametrize(
    ("roles", "steps"),
    [
        (["user"], [[1]]),
        (["user", "system", "user"], [[1, 2, 3]]),
        (["user", "assistant"], [[1, 2]]),
        (["user", "assistant", "assistant"], [[1, 2], [3]]),
        (["user", "tool", "assistant", "system", "assistant"], [[1, 2, 3, 4], [5]]),
    ],
)
def test_steps_of_unusual_turns(roles: list[Role], steps: list[list[int]]) -> None:
    """A turn without a reply is one step; two replies in a row are two."""
    assert shape(a_turn(*roles)) == steps


@given(st.lists(st.sampled_from(ROLES), max_size=12))
def test_steps_cut_a_turn_without_losing_anything(roles: list[Role]) -> None:
    """Put together, the steps are the turn; each holds one reply (or none, where the turn has none)."""
    turn = a_turn(*roles)
    assert [m for step in turn.steps for m in step.messages] == list(turn.messages)
    replies = [sum(m.role == "assistant" for m in step.messages) for step in turn.steps]
    assert replies == [1] * roles.count("assistant") or (set(replies) <= {0} and "assistant" not in roles)
    assert all(step.messages[0].role == "assistant" for step in turn.steps[1:])


def test_turn_has_a_question_and_an_answer() -> None:
    """The question is the message that opens it, the answer the assistant's text."""
    call = Message(Ref("a" * 32, 9), "assistant", Ref("a" * 32, 9), Content((ToolCall("1", "read", {}),)), AT)
    result = Message(
        Ref("a" * 32, 10), "tool", Ref("a" * 32, 10), Content((ToolResult("1", (Text("long"),)),)), AT
    )
    messages = (
        said(8, "user", "今天天气怎么样？"),
        call,
        result,
        said(11, "assistant", "Sunny."),
        said(12, "assistant", "晴。"),
    )
    turn = Turn("id", 3, AT, messages, "v")
    assert turn.user_input == "今天天气怎么样？"
    assert turn.response == "Sunny.\n晴。"


def test_turn_0_has_no_question() -> None:
    """What precedes the first user message is only an answer."""
    turn = a_turn("system", "assistant", sequence=0)
    assert turn.user_input == ""
    assert turn.response == "assistant 2"


def test_thread_info_has_neutral_defaults() -> None:
    """With only an id it is an empty chat."""
    info = ThreadInfo("a" * 32)
    assert (info.kind, info.title, info.tags, info.metadata) == ("chat", "", (), {})
    assert (info.events, info.messages, info.turns) == (0, 0, 0)
    assert info.parent is info.forked_at is None
    assert not info.forgotten
