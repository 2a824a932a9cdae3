"""All words of a message, for scanning."""

from __future__ import annotations

from backscroll.derive.flat import flat
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Content, Message
from backscroll.vocab.part import Media, Opaque, Part, Reasoning, Text, ToolCall, ToolResult

ID = Ref("0" * 32, 3)


def message(*parts: Part) -> Message:
    return Message(ID, "assistant", ID, Content(parts), "2026-11-15T10:00:00Z")


def test_flat_text_has_words_calls_and_results_without_reasoning() -> None:
    found = flat(
        message(
            Text("Let me look."),
            Reasoning("secret thought"),
            ToolCall("1", "Read", {"path": "a\nb.py", "deep": [{"n": 7}, None, True]}),
            ToolResult("1", (Text("the file"), Media("image/png", name="shot.png"), Opaque("x", "y", "raw"))),
        )
    )
    assert found == "Let me look.\nRead\na\nb.py\n7\nthe file\nshot.png\nraw"


def test_json_string_arguments_are_unescaped() -> None:
    assert (
        flat(message(ToolCall("1", "Write", '{"text": "line one\\nline \\"two\\""}')))
        == 'Write\nline one\nline "two"'
    )


def test_non_json_arguments_are_kept_as_text() -> None:
    assert (
        flat(message(ToolCall("1", "apply_patch", "*** Begin {broken"))) == "apply_patch\n*** Begin {broken"
    )
