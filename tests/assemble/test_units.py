"""Units: what a prompt keeps or fades whole."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from backscroll.assemble.view.units import units_of
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Content, Message, Role
from backscroll.vocab.part import Part, Text, ToolCall, ToolResult

THREAD = "d" * 32


def said(seq: int, role: Role, *parts: Part) -> Message:
    ref = Ref(THREAD, seq)
    return Message(ref, role, ref, Content(parts or (Text("words"),)), "")


def call(seq: int, *ids: str) -> Message:
    return said(seq, "assistant", *(ToolCall(i, "Read", {}) for i in ids))


def result(seq: int, *ids: str) -> Message:
    return said(seq, "tool", *(ToolResult(i, (Text("x"),)) for i in ids))


def cut(*messages: Message) -> list[list[int]]:
    return [[m.id.seq for m in unit.messages] for unit in units_of(messages)]


def test_reply_and_its_results_are_one_unit() -> None:
    assert cut(said(1, "user"), call(2, "a"), result(3, "a"), said(4, "assistant")) == [[1], [2, 3], [4]]


def test_parallel_calls_in_separate_replies_are_one_unit() -> None:
    messages = (call(1, "a"), call(2, "b"), result(3, "a"), result(4, "b"), said(5, "assistant"))
    assert cut(*messages) == [[1, 2, 3, 4], [5]]
    assert next(units_of(messages)).unanswered == ()


def test_messages_between_a_call_and_its_result_join_the_unit() -> None:
    assert cut(call(1, "a"), said(2, "assistant"), result(3, "a"), said(4, "assistant")) == [[1, 2, 3], [4]]


def test_unanswered_call_is_its_own_unit() -> None:
    found = list(units_of([call(1, "a"), said(2, "assistant"), call(3, "b"), result(4, "b")]))
    assert [[m.id.seq for m in u.messages] for u in found] == [[1], [2], [3, 4]]
    assert found[0].unanswered == ("a",)


def test_user_message_ends_the_unit() -> None:
    assert cut(call(1, "a"), said(2, "user"), result(3, "a")) == [[1], [2], [3]]


PIECES = st.lists(st.sampled_from(["user", "system", "assistant", "call", "double", "result"]), max_size=25)


@given(PIECES)
def test_units_are_the_history_cut_up(plan: list[str]) -> None:
    """Nothing is lost, doubled or moved, and a result never stands apart from a call of the same stretch."""
    messages: list[Message] = []
    waiting: list[str] = []
    for seq, kind in enumerate(plan, 1):
        if kind in ("call", "double"):
            ids = [f"c{seq}"] if kind == "call" else [f"c{seq}", f"d{seq}"]
            waiting += ids
            messages.append(call(seq, *ids))
        elif kind == "result":
            messages.append(result(seq, waiting.pop(0) if waiting else f"stray{seq}"))
        else:
            role: Role = kind  # type: ignore[assignment]
            messages.append(said(seq, role))
    units = list(units_of(messages))
    assert [m for u in units for m in u.messages] == messages
    assert len({u.id for u in units}) == len(units)
    home = {m.id: n for n, u in enumerate(units) for m in u.messages}
    asked = {p.id: m for m in messages for p in m.parts if isinstance(p, ToolCall)}
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolResult) and part.call_id in asked:
                caller = asked[part.call_id]
                between = messages[messages.index(caller) : messages.index(message)]
                if all(m.role in ("assistant", "tool") for m in between):
                    assert home[caller.id] == home[message.id]
