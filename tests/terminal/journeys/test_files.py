"""Files and conversation together: edits that are approved by their diff, blame, rewind, redo."""

from __future__ import annotations

from tests.terminal.journeys.stage import BUSY, READY, Stage, call
from tests.terminal.terminal import CTRL_C, CTRL_D, ENTER, Terminal

FIRST = "def hello():\n    return 'hello'\n"
SECOND = "def hello():\n    return '你好'\n"


def worked(stage: Stage) -> Terminal:
    """Two turns: a file is written, then edited; both approved by their diff."""
    edits = [{"old": "return 'hello'", "new": "return '你好'"}]
    stage.plays(
        {"text": "I write it.", "calls": [call("write_file", path="hello.py", content=FIRST)]},
        {"text": "Written."},
        {"text": "I change it.", "calls": [call("edit_file", path="hello.py", edits=edits)]},
        {"text": "Changed."},
        {"text": "As you like."},
    )
    terminal = stage.ready()
    terminal.enter("write a greeting")
    terminal.wait_for("write_file", "+def hello():", "+    return 'hello'", "y allow")
    assert not (stage.folder / "hello.py").exists()
    terminal.type("y")
    terminal.wait_for("Written.", READY, gone=BUSY)
    terminal.enter("in Chinese, please")
    terminal.wait_for("-    return 'hello'", "+    return '你好'", "y allow")
    assert (stage.folder / "hello.py").read_text() == FIRST
    terminal.type("y")
    terminal.wait_for("Changed.", READY, gone=BUSY)
    assert (stage.folder / "hello.py").read_text(encoding="utf-8") == SECOND
    return terminal


def test_edit_is_approved_blamed_rewound_and_redone(stage: Stage) -> None:
    """The command line names who wrote a line and why, reverts files and messages, and redoes them."""
    terminal = worked(stage)
    terminal.type(CTRL_D)
    assert terminal.wait_for_end() == 0
    told = stage.cli("changes")
    assert told.index("turn 2") < told.index("turn 1")
    assert "~ hello.py  +1 −1" in told
    (line,) = stage.lines("blame", "hello.py:2")
    assert (line["turn"], line["asked"], line["tool"]) == (2, "in Chinese, please", "edit_file")
    before = [m.text for m in stage.record()]
    assert "Rewound to before turn 2: 1 file, 4 messages." in stage.cli("rewind", "2", "--yes")
    assert (stage.folder / "hello.py").read_text() == FIRST
    assert len(stage.record()) == len(before) - 4
    stage.cli("rewind", "--redo", "--yes")
    assert (stage.folder / "hello.py").read_text(encoding="utf-8") == SECOND
    assert [m.text for m in stage.record()] == before


def test_rewind_and_redo_in_the_chat(stage: Stage) -> None:
    """A picker of turns, a preview, a yes; the next request has nothing of what was reverted."""
    terminal = worked(stage)
    terminal.enter("/rewind")
    terminal.wait_for(
        "Rewind to before which turn?", "in Chinese, please · 1 file", "write a greeting · 1 file"
    )
    terminal.type("1")
    terminal.wait_for("Rewind to before turn 2: what?", "1. ")
    terminal.type("1")
    terminal.wait_for("-    return '你好'", "+    return 'hello'", "4 messages would leave", "Rewind? [Y/n]")
    terminal.type(ENTER)
    terminal.wait_for("rewound to before turn 2", READY)
    assert (stage.folder / "hello.py").read_text() == FIRST
    terminal.enter("/rewind redo")
    terminal.wait_for("4 messages would be restored", "Revert the rewind? [Y/n]")
    terminal.type(ENTER)
    terminal.wait_for("rewind reverted: 1 file, 4 messages", READY)
    assert (stage.folder / "hello.py").read_text(encoding="utf-8") == SECOND
    (stage.folder / "hello.py").write_text("mine\n")
    terminal.enter("/rewind 2")
    terminal.wait_for("Rewind to before turn 2: what?")
    terminal.type("1")
    terminal.wait_for("hello.py was changed outside this conversation since", "anyway?")
    terminal.type(CTRL_C)
    terminal.wait_for("nothing was changed", READY)
    assert (stage.folder / "hello.py").read_text() == "mine\n"
    terminal.enter("/rewind 2")
    terminal.wait_for("Rewind to before turn 2: what?")
    terminal.type("3")
    terminal.wait_for("Rewind? [Y/n]")
    terminal.type(ENTER)
    terminal.wait_for("0 files, 4 messages", READY)
    terminal.enter("and now?")
    terminal.wait_for("As you like.", READY, gone=BUSY)
    assert "in Chinese, please" not in stage.words()
    assert "write a greeting" in stage.words()
