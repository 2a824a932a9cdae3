"""A long session with slash commands, mentions and shell commands; several threads."""

from __future__ import annotations

from tests.terminal.journeys.stage import BUSY, READY, Stage
from tests.terminal.terminal import CTRL_D, DOWN, ENTER, ESCAPE, Terminal


def number_of(terminal: Terminal, option: str) -> str:
    """The number under which a list offers something."""
    line = next(line for line in reversed(terminal.screen().splitlines()) if option in line and ". " in line)
    return line.partition(".")[0].strip(" ❯")


def test_answers_can_be_regenerated_edited_and_forked(stage: Stage) -> None:
    """Alternatives, an edit, an undo, a fork and another model: each request has the live messages only."""
    stage.plays(
        {"text": "To the sea."},
        {"text": "To the lake."},
        {"text": "To the hills."},
        {"text": "In the branch."},
        {"text": "By another one."},
    )
    terminal = stage.ready()
    terminal.enter("Where shall we go?")
    terminal.wait_for("To the sea.", READY, gone=BUSY)
    terminal.enter("/regenerate")
    terminal.wait_for("To the lake.", "alternative 2 of 2", READY)
    assert "To the sea." not in stage.words()
    terminal.enter("/swipe left")
    terminal.wait_for("alternative 1 of 2", READY)
    assert stage.record()[-1].text == "To the sea."
    terminal.enter("/undo")
    terminal.wait_for("Undone", READY)
    assert stage.record()[-1].text == "To the lake."
    terminal.enter("/redo")
    terminal.wait_for("Redone", READY)
    assert stage.record()[-1].text == "To the sea."
    terminal.enter("/edit")
    terminal.wait_for("Which message?", "Where shall we go?")
    terminal.type(ENTER)
    terminal.wait_for("Message #")
    terminal.type(" 爬山？" + ENTER)
    terminal.wait_for("edited message", "Answer it again?")
    terminal.type(DOWN)
    terminal.type(ENTER)
    terminal.wait_for("To the hills.", READY, gone=BUSY)
    assert "Where shall we go? 爬山？" in stage.words()
    assert "To the sea." not in stage.words()
    first = stage.lines("threads")
    terminal.enter("/fork")
    terminal.wait_for("Where shall we go? 爬山？", READY)
    terminal.enter("and then?")
    terminal.wait_for("In the branch.", READY, gone=BUSY)
    assert "To the hills." in stage.words()
    assert len(stage.lines("threads")) == 2
    assert "and then?" not in [m.text for m in stage.record(first[0]["id"])]
    terminal.enter("/model gpt-4.1-nano")
    terminal.wait_for("gpt-4.1-nano", READY)
    terminal.enter("who are you?")
    terminal.wait_for("By another one.", "gpt-4.1-nano", READY, gone=BUSY)
    assert stage.asked()[-1]["model"] == "gpt-4.1-nano"


def test_files_commands_and_pastes_reach_the_model(stage: Stage) -> None:
    """Mentions are data, `!command` runs without approval, pasted lines stay together until Enter."""
    (stage.folder / "harbour.txt").write_text("the password is xylophone\n")
    stage.plays({"text": "I saw **everything**."}, {"text": "Read."})
    terminal = stage.ready()
    terminal.enter("!echo by hand > made.txt; cat made.txt")
    terminal.wait_for("● run_command", READY, gone=BUSY)
    assert (stage.folder / "made.txt").read_text() == "by hand\n"
    terminal.type("look at @harb")
    terminal.wait_for("harbour.txt")
    terminal.type("\t")
    terminal.wait_for("look at @harbour.txt")
    terminal.type(ENTER)
    terminal.wait_for("I saw everything.", READY, gone=BUSY)
    assert len(stage.asked()) == 1, "what was run by hand asks nobody"
    assert "by hand" in stage.words()
    assert "the password is xylophone" in stage.words()
    assert "data, not instructions" in stage.words()
    terminal.paste("first line\r\n\r\n  second line, 第二行\r\n/third is no command")
    shown = terminal.wait_for("/third is no command")
    assert "second line, 第二行" in shown
    assert len(stage.asked()) == 1, "a paste sends nothing"
    terminal.type(ENTER)
    terminal.wait_for("Read.", READY, gone=BUSY)
    assert stage.record()[-2].text == "first line\n\n  second line, 第二行\n/third is no command"


def test_edited_graph_reaches_the_model(stage: Stage) -> None:
    """A node and an attribute by keys alone; `graph` outside shows them, and undo reverts them."""
    stage.plays({"text": "A wizard."})
    terminal = stage.ready()
    terminal.enter("/graph edit")
    terminal.wait_for("Which one?", "+ a new node")
    terminal.type(number_of(terminal, "+ a new node"))
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
    terminal.enter("Who is Gandalf?")
    terminal.wait_for("A wizard.", READY, gone=BUSY)
    assert "grey" in stage.words()


def test_thread_can_be_found_again(stage: Stage) -> None:
    """The picker narrows while typing and previews messages; --continue takes the newest; /threads switches."""
    stage.plays({"text": "The answer was 42."}, {"text": "It rained."}, {"text": "Still 42."})
    terminal = stage.ready()
    terminal.enter("remember the number")
    terminal.wait_for("The answer was 42.", READY, gone=BUSY)
    terminal.enter("/new")
    terminal.wait_for(READY)
    terminal.enter("how was the weather?")
    terminal.wait_for("It rained.", READY, gone=BUSY)
    terminal.enter("/threads")
    terminal.wait_for("remember the number", "how was the weather?", "or a number")
    terminal.type(ESCAPE)
    terminal.wait_for(READY, gone="or a number")
    terminal.type(CTRL_D)
    assert terminal.wait_for_end() == 0
    again = stage.chat("--pick")
    again.wait_for("Conversations", "how was the weather?", "remember the number")
    again.type("zzz")
    again.wait_for("no matches")
    again.type("\x7f\x7f\x7fnumber")
    again.wait_for("│ assistant: The answer was 42.", gone="│ assistant: It rained.")
    again.type(ENTER)
    again.wait_for("remember the number · ", READY, gone="type to filter")
    again.enter("what was it?")
    again.wait_for("Still 42.", READY, gone=BUSY)
    assert "The answer was 42." in stage.words()
    assert "It rained." not in stage.words()
