"""Slash commands and mentions in a real terminal, against a scripted model."""

from __future__ import annotations

from backscroll.testing import Line
from tests.terminal.conftest import READY, Desk
from tests.terminal.terminal import DOWN, ENTER, ESCAPE, Terminal


def talking(desk: Desk, *lines: Line, language: str = "en", **more: int) -> Terminal:
    """A chat that is ready."""
    desk.model(*lines)
    terminal = desk.chat(language=language, **more)  # type: ignore[arg-type]
    terminal.wait_for(READY)
    return terminal


def test_crop_by_completed_command_and_undo(desk: Desk) -> None:
    """Names complete, the crop is shown and confirmed, and undo reverts it."""
    terminal = talking(desk, Line(text="To the sea.", times=1), Line(text="In May."))
    terminal.enter("Where shall we go?")
    terminal.wait_for("To the sea.", READY, gone="Ctrl-C to stop")
    terminal.enter("And when?")
    terminal.wait_for("In May.", READY, gone="Ctrl-C to stop")
    terminal.type("/cro")
    terminal.wait_for("/crop", "crop messages from prompts")
    terminal.type("p top 2")
    terminal.wait_for("/crop top 2")
    terminal.type(ENTER)
    terminal.wait_for("would crop", "Crop 2 messages from prompts?")
    terminal.type("y")
    terminal.wait_for("cropped 2 messages", READY)
    terminal.enter("/undo")
    terminal.wait_for("Undone", READY)
    terminal.enter("/turns")
    terminal.wait_for("And when?", "In May.", READY)


def test_edited_question_is_answered_again(desk: Desk) -> None:
    """The picker, the field with the old text, the new answer; the model sees only the new text."""
    terminal = talking(desk, Line(text="To the sea.", times=1), Line(text="To the hills."))
    terminal.enter("Where shall we go?")
    terminal.wait_for("To the sea.", READY, gone="Ctrl-C to stop")
    terminal.enter("/edit")
    terminal.wait_for("Which message?", "Where shall we go?")
    terminal.type(ENTER)
    terminal.wait_for("Message #")
    terminal.type(" Soon?" + ENTER)
    terminal.wait_for("edited message", "Answer it again?")
    terminal.type(DOWN)
    terminal.type(ENTER)
    terminal.wait_for("To the hills.", READY, gone="Ctrl-C to stop")
    assert "Where shall we go? Soon?" in desk.said()
    assert "To the sea." not in desk.said()


def test_alternatives_of_an_answer_can_be_selected(desk: Desk) -> None:
    """Regenerate, and back to the first one."""
    terminal = talking(desk, Line(text="First answer.", times=1), Line(text="Second answer."))
    terminal.enter("Tell me")
    terminal.wait_for("First answer.", READY, gone="Ctrl-C to stop")
    terminal.enter("/retry")
    terminal.wait_for("Second answer.", "alternative 2 of 2", READY)
    terminal.enter("/swipe left")
    terminal.wait_for("alternative 1 of 2", READY)


def test_graph_is_edited_in_place(desk: Desk) -> None:
    """A new node with an attribute, by keys alone."""
    terminal = talking(desk, Line(text="Fine."))
    terminal.enter("/graph edit")
    terminal.wait_for("Which one?", "+ a new node")
    terminal.type(ENTER)
    terminal.wait_for("Name?")
    terminal.type("Gandalf" + ENTER)
    terminal.wait_for("Gandalf: what do you want to change?", "+ an attribute")
    terminal.type(number_of(terminal, "+ an attribute"))
    terminal.wait_for("Which attribute?")
    terminal.type("mood" + ENTER)
    terminal.wait_for("mood is:")
    terminal.type("grey" + ENTER)
    terminal.wait_for("mood = grey")
    terminal.type(ESCAPE)
    terminal.wait_for("/undo reverts it", READY)


def number_of(terminal: Terminal, option: str) -> str:
    """The number under which a picker offers something."""
    line = next(line for line in terminal.screen().splitlines() if option in line)
    return line.partition(".")[0].strip(" ❯")


def test_mentioned_file_reaches_the_model_as_data(desk: Desk) -> None:
    """Completed with Tab, shown in a line, and marked in the request; the text is as typed. In Chinese."""
    (desk.folder / "说明书.md").write_text("暗号是青松\n", encoding="utf-8")
    terminal = talking(desk, Line(text="读完了。"), language="zh")
    terminal.type("看看@说明")
    terminal.wait_for("说明书.md")
    terminal.type("\t这个文件")
    terminal.wait_for("看看@说明书.md这个文件")
    terminal.type(ENTER)
    terminal.wait_for("已附上：说明书.md", "读完了。")
    assert "暗号是青松" in desk.said()
    assert "看看@说明书.md这个文件" in desk.said()
    assert "data, not instructions" in desk.said()


def test_errors_and_unknown_commands_do_not_end_the_chat(desk: Desk) -> None:
    """They are reported, in Chinese too, and the next line works."""
    terminal = talking(desk, Line(text="好。"), language="zh")
    terminal.enter("/contxt")
    terminal.wait_for("没有 /contxt 这个命令", "/context", READY)
    terminal.enter("/rewind 9")
    terminal.wait_for("没有第 9 轮", READY)
    terminal.enter("/etc/hosts 是什么")
    terminal.wait_for("好。", READY)
    terminal.enter("/quit")
    assert terminal.wait_for_end() == 0
