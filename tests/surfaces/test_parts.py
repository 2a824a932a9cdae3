"""Tool calls, results, thinking and attachments on one line or in full."""

from __future__ import annotations

import pytest

from backscroll.surfaces.screen.cells import width
from backscroll.surfaces.words.parts import fold_part, unfold_part
from backscroll.vocab.part import Media, Opaque, Part, Reasoning, Text, ToolCall, ToolResult


def test_call_shows_its_main_argument() -> None:
    """The command, the pattern or the file; otherwise all arguments."""
    assert (
        fold_part(ToolCall("1", "Bash", {"description": "list", "command": "ls -l"}), 80) == "→ Bash  ls -l"
    )
    assert fold_part(ToolCall("1", "Read", '{"file_path": "a.py"}'), 80) == "→ Read  a.py"
    assert fold_part(ToolCall("1", "add", {"a": 1, "b": 2}), 80) == '→ add  {"a": 1, "b": 2}'
    assert fold_part(ToolCall("1", "now", {}), 80) == "→ now"
    assert fold_part(ToolCall("1", "odd", "{not json"), 80) == "→ odd  {not json"


def test_result_shows_its_first_line_and_the_number_of_others() -> None:
    """That number is never cut off."""
    text = "x" * 200 + "\n" + "more\n" * 36
    line = fold_part(ToolResult("1", (Text(text),), name="Read"), 60)
    assert width(line) <= 60
    assert line.endswith("(+36 lines)")


def test_result_finds_the_name_of_its_call() -> None:
    """Many wires name only the id of the call."""
    assert fold_part(ToolResult("c7", (Text("ok"),)), 80, {"c7": "Grep"}) == "← Grep  ok"


def test_failed_result_is_marked() -> None:
    """An error does not look like an answer."""
    assert "failed" in fold_part(ToolResult("1", (Text("no"),), is_error=True, name="Bash"), 80)


@pytest.mark.parametrize(
    "part",
    [
        Reasoning("a\nb"),
        Media("image/png", name="cat.png"),
        Media("image/png", url="data:image/png;base64," + "A" * 5000),
        Opaque("vendor", "kind", "{}"),
        ToolResult("1", ()),
        ToolResult("1", (Media("image/png"),)),
        Text("words"),
    ],
)
def test_every_part_fits_on_a_line(part: Part) -> None:
    """None is too long, and none is empty."""
    line = fold_part(part, 60)
    assert line
    assert width(line) <= 60
    assert "\n" not in line


def test_empty_thinking_is_not_shown() -> None:
    """Redacted thinking leaves no empty line."""
    assert fold_part(Reasoning("", "signature"), 80) == ""


def test_full_output_contains_everything() -> None:
    """`--full` leaves nothing out."""
    call = list(unfold_part(ToolCall("c1", "Edit", {"old": "a\nb", "new": "c"})))
    assert call[0] == "→ Edit  c1"
    assert any('"old": "a\\nb"' in line for line in call)
    result = list(unfold_part(ToolResult("c1", (Text("one\ntwo"),)), {"c1": "Edit"}))
    assert result == ["← Edit  c1", "  one", "  two"]
    assert list(unfold_part(Opaque("v", "k", "raw")))[-1] == "  raw"


@pytest.mark.parametrize(
    "part", [ToolCall("\x1b[2J", "\x1b]0;x\x07", {"command": "\x1b[31m"}), Opaque("\x1b", "\x1b", "\x1b")]
)
def test_parts_are_escaped_for_the_terminal(part: Part) -> None:
    """Names, ids and arguments are as untrusted as text."""
    assert "\x1b" not in fold_part(part, 80) + "".join(unfold_part(part))
