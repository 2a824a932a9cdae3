"""All words of a message, for scanning."""

from __future__ import annotations

from backscroll.derive.flat import flat
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Content, Message
from backscroll.vocab.part import Media, Opaque, Part, Reasoning, Text, ToolCall, ToolResult

ID = Ref("0" * 32, 3)


def message(*parts: Part) -> Message:
    return Message(ID, "assistant", ID, Content(parts), "2026-11-15T10:00:00Z")


def test_words_calls_and_results_in_order_without_thinking() -> None:
    found = flat(
        message(
            Text("Let me look."),
            Reasoning("secret thought"),
            ToolCall("1", "Read", {"path": "a\nb.py", "deep": [{"n": 7}, None, True]}),
            ToolResult("1", (Text("the file"), Media("image/png", name="shot.png"), Opaque("x", "y", "raw"))),
        )
    )
    assert found == "Let me look.\nRead\na\nb.py\n7\nthe file\nshot.png\nraw"


def test_arguments_as_a_string_are_unescaped() -> None:
    assert (
        flat(message(ToolCall("1", "Write", '{"text": "line one\\nline \\"two\\""}')))
        == 'Write\nline one\nline "two"'
    )


def test_arguments_that_are_no_json_are_words_too() -> None:
    assert (
        flat(message(ToolCall("1", "apply_patch", "*** Begin {broken"))) == "apply_patch\n*** Begin {broken"
    )
