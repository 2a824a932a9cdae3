"""The list of recent operations, and the pointer that represents it in a system prompt."""

from __future__ import annotations

from dataclasses import replace

import pytest

from backscroll.derive.digest import Digest
from backscroll.derive.operations import (
    pointer,
    recent_operations,
    render_operations,
    with_pointer,
)
from backscroll.errors import InvalidInput
from backscroll.record.turns import turn_of
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Content, Message, Role
from backscroll.vocab.part import Part, Text, ToolCall, ToolResult
from backscroll.vocab.thread import Turn

POINTER = "(The recent operations are the tool calls of this conversation; earlier ones are listed where it was condensed.)"

THREAD = "0" * 32


def message(number: int, role: Role, *parts: Part) -> Message:
    return Message(
        Ref(THREAD, number), role, Ref(THREAD, number), Content(parts), f"2026-11-15T10:{number % 60:02}:00Z"
    )


def turns(count: int, each: int = 2) -> list[Turn]:
    """Turns with some calls each."""
    out: list[Turn] = []
    number = 0
    for turn in range(1, count + 1):
        said = [message(number := number + 1, "user", Text("go"))]
        for n in range(each):
            said.append(
                message(
                    number := number + 1,
                    "assistant",
                    ToolCall(f"{number}", "Bash", {"command": f"{turn}.{n}"}),
                )
            )
            said.append(message(number := number + 1, "tool", ToolResult(f"{number - 1}", (Text("ok"),))))
        out.append(turn_of(THREAD, turn, said))
    return out


def test_recent_operations_of_the_last_rounds_oldest_first() -> None:
    assert [d.target for d in recent_operations(turns(8), rounds=2)] == ["7.0", "7.1", "8.0", "8.1"]
    assert len(recent_operations(turns(8))) == 10


def test_recent_operations_are_limited_to_the_newest() -> None:
    assert [d.target for d in recent_operations(turns(8), max_summaries=3)] == ["7.1", "8.0", "8.1"]
    assert len(recent_operations(turns(3, each=30))) == 20


def test_last_overrides_rounds() -> None:
    assert [d.target for d in recent_operations(turns(8, each=1), rounds=1, last=3)] == ["6.0", "7.0", "8.0"]


def test_zero_rounds_give_no_operations() -> None:
    assert recent_operations(turns(3), rounds=0) == []
    assert recent_operations(turns(3), last=0) == []
    assert recent_operations([]) == []


@pytest.mark.parametrize("wrong", [{"rounds": -1}, {"max_summaries": -1}, {"last": -1}])
def test_negative_numbers_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(InvalidInput, match="cannot list -1 operations"):
        recent_operations(turns(1), **wrong)


def test_hidden_messages_are_not_listed() -> None:
    turn = turns(1)[0]
    hidden = tuple(replace(m, hidden=True) if m.id.seq in (2, 3) else m for m in turn.messages)
    assert [d.target for d in recent_operations([replace(turn, messages=hidden)])] == ["1.1"]


def digest(at: str) -> Digest:
    (made,) = recent_operations(turns(1, each=1))
    return replace(made, timestamp=at)


def test_operations_are_rendered_with_time_and_new_dates() -> None:
    rows = [
        digest("2026-11-14T23:58:00+08:00"),
        digest("2026-11-14T23:59:00+08:00"),
        digest("2026-11-15T00:01:00+08:00"),
    ]
    assert render_operations(rows).split("\n")[1:] == [
        "- 23:58 Bash 1.0: ok [bs:3]",
        "- 23:59 Bash 1.0: ok [bs:3]",
        "- 2026-11-15 00:01 Bash 1.0: ok [bs:3]",
    ]


def test_unreadable_time_is_left_out() -> None:
    assert render_operations([digest("yesterday")]).endswith("\n- Bash 1.0: ok [bs:3]")


def test_operations_header_in_two_languages() -> None:
    assert render_operations([digest("")], "en").startswith("Recent operations")
    assert render_operations([digest("")], "zh-CN").startswith("最近的操作")
    assert render_operations([digest("")], "fr").startswith("Recent operations")
    assert render_operations([]) == ""


def test_placeholder_becomes_a_fixed_sentence() -> None:
    """The same text for any operations, so that a provider's cache stays valid."""
    filled, found = with_pointer("Be kind.\n{recent_operations}\nBe brief.")
    assert found
    assert filled == f"Be kind.\n{POINTER}\nBe brief."
    assert with_pointer("Be kind.\n{recent_operations}\nBe brief.", operations=[digest("")])[0] == filled
    assert pointer("en") == POINTER
    assert with_pointer("{recent_operations}", language="zh")[0] == pointer("zh") != POINTER


def test_inline_replaces_the_placeholder_with_the_list() -> None:
    filled, found = with_pointer(
        "A {recent_operations} B", inline=True, operations=[digest("2026-11-15T10:00:00Z")]
    )
    assert found
    assert "10:00 Bash 1.0: ok [bs:3]" in filled
    assert with_pointer("{recent_operations}", inline=True)[0] == "(No operations yet.)"


def test_prompt_without_placeholder_is_unchanged() -> None:
    assert with_pointer("Be kind. {other}") == ("Be kind. {other}", False)
    assert with_pointer("<<ops>>", "<<ops>>") == (POINTER, True)
    assert with_pointer("x", "") == ("x", False)
