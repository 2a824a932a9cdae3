"""What can be typed, pasted and pressed in the chat, in a real terminal."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

from backscroll.testing import Line
from backscroll.testing.scenario import ScriptedCall
from tests.house import tree
from tests.terminal.conftest import READY, Desk
from tests.terminal.terminal import CTRL_C, CTRL_D, CTRL_V, ENTER, ESCAPE, UP, Terminal

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360000002000001e221bc330000000049454e44ae426082"
)


def test_pasted_picture_is_attached(desk: Desk) -> None:
    """Its path becomes a mark; the model gets the picture, the text stays as typed."""
    server = desk.model(Line(text="I see it."))
    picture = desk.folder / "my map.png"
    picture.write_bytes(PNG)
    terminal = desk.chat()
    terminal.wait_for(READY)
    terminal.type("look: ")
    terminal.paste(str(picture))
    terminal.wait_for("look: [#1 my map.png]")
    terminal.type(ENTER)
    terminal.wait_for("I see it.", READY)
    assert "image" in str(server.asked[-1].body["messages"])


def test_dropped_file_is_mentioned_and_attached(desk: Desk) -> None:
    desk.model(Line(text="Read."))
    (desk.folder / "notes.txt").write_text("the secret word is xylophone\n")
    terminal = desk.chat()
    terminal.wait_for(READY)
    terminal.paste(str(desk.folder / "notes.txt"))
    terminal.wait_for("@notes.txt")
    terminal.type("what is the word?" + ENTER)
    terminal.wait_for("Read.", READY)
    assert "xylophone" in desk.said()


def test_missing_clipboard_program_is_reported(desk: Desk, tmp_path: Path) -> None:
    desk.model(Line(text="Hello."))
    empty = tmp_path / "bin"
    empty.mkdir()
    terminal = desk.chat(PATH=str(empty))
    terminal.wait_for(READY)
    terminal.type("words")
    terminal.wait_for("› words")
    terminal.type(CTRL_V)
    terminal.wait_for("cannot read images from the clipboard", "pngpaste", "› words")


def test_line_can_be_edited_in_an_editor(desk: Desk, tmp_path: Path) -> None:
    """Ctrl-X Ctrl-E: the saved text is in the line, and can still be changed."""
    desk.model(Line(text="Hello."))
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nprintf "%s, edited" "$(cat "$1")" > "$1"\n')
    editor.chmod(0o755)
    terminal = desk.chat(EDITOR=str(editor), VISUAL=str(editor))
    terminal.wait_for(READY)
    terminal.type("draft")
    terminal.wait_for("› draft")
    terminal.type("\x18\x05")
    terminal.wait_for("draft, edited")


def test_history_of_an_earlier_chat_is_available(desk: Desk) -> None:
    """The arrow key finds what was typed in this folder; no other user can read it."""
    desk.model(Line(text="Hello."))
    first = desk.chat()
    first.wait_for(READY)
    first.enter("remember this line")
    first.wait_for("Hello.", READY)
    first.type(CTRL_D)
    first.wait_for_end()
    second = desk.chat()
    second.wait_for(READY)
    second.type(UP)
    second.wait_for("› remember this line")
    (kept,) = (desk.home / ".local" / "state" / "backscroll" / "typed").iterdir()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600


def test_commands_and_files_are_completed(desk: Desk) -> None:
    desk.model(Line(text="Hello."))
    (desk.folder / "harbour.txt").touch()
    terminal = desk.chat()
    terminal.wait_for(READY)
    terminal.type("/con")
    terminal.wait_for("/context")
    terminal.type(CTRL_C)
    terminal.type("see @harb")
    terminal.wait_for("harbour.txt")
    terminal.type("\t")
    terminal.wait_for("see @harbour.txt")


def test_slash_commands_are_not_sent(desk: Desk) -> None:
    """A command acts on the thread; an unknown one is reported; the chat goes on."""
    server = desk.model(Line(text="Hello."))
    terminal = desk.chat()
    terminal.wait_for(READY)
    terminal.enter("/unfold 7")
    terminal.wait_for("No line [7]", READY)
    terminal.enter("/unfoldd")
    terminal.wait_for("/unfold", READY)
    assert server.asked == []
    terminal.enter("/quit")
    assert terminal.wait_for_end() == 0


def test_escape_at_an_approval_stops_the_run(desk: Desk) -> None:
    """Nothing runs, the chat goes on, and the next message reaches the model in a valid prompt."""
    desk.model(
        Line(calls=(ScriptedCall("run_command", {"command": "touch made"}),), times=1),
        Line(text="As you like."),
    )
    terminal = desk.chat()
    terminal.wait_for(READY)
    terminal.enter("go")
    terminal.wait_for("y allow")
    terminal.type(ESCAPE)
    terminal.wait_for("Stopped.", READY)
    assert not (desk.folder / "made").exists()
    terminal.enter("never mind")
    terminal.wait_for("As you like.", READY)


def test_ctrl_c_twice_during_a_stream_quits(desk: Desk, tmp_path: Path) -> None:
    desk.model(Line(text="Some words. More.", chunk=11, wait_for_file=str(tmp_path / "never"), wait_after=2))
    terminal = desk.chat()
    terminal.wait_for(READY)
    terminal.enter("tell me")
    terminal.wait_for("Some words.", "Ctrl-C to stop")
    terminal.type(CTRL_C)
    terminal.wait_for("Stopped.", READY)
    terminal.type(CTRL_C)
    assert terminal.wait_for_end() == 0


def test_running_command_shows_its_last_lines_and_can_be_stopped(desk: Desk) -> None:
    desk.model(
        Line(calls=(ScriptedCall("run_command", {"command": "echo tick; echo tock; sleep 60"}),), times=1),
        Line(text="Stopped it."),
    )
    terminal = desk.chat()
    terminal.wait_for(READY)
    terminal.enter("run it")
    terminal.wait_for("y allow")
    terminal.type("y")
    terminal.wait_for("│ tick", "│ tock", "Ctrl-C to stop")
    terminal.type(CTRL_C)
    terminal.wait_for("Stopped.", READY)


def test_terminal_state_is_restored_at_the_end(desk: Desk) -> None:
    """After quitting, a shell echoes again."""
    desk.model(Line(text="Hello."))
    script = f"stty -g > before; {sys.executable} -m backscroll chat; stty -g > after; echo ended"
    terminal = desk.program("sh", "-c", script)
    terminal.wait_for(READY)
    terminal.type(CTRL_D)
    terminal.wait_for("ended")
    terminal.wait_for_end()
    assert (desk.folder / "before").read_text() == (desk.folder / "after").read_text()


def test_backscroll_alone_is_the_chat_in_a_terminal_and_an_overview_in_a_pipe(desk: Desk) -> None:
    desk.model(Line(text="Hello."))
    terminal: Terminal = desk.program(sys.executable, "-m", "backscroll")
    terminal.wait_for("gpt-4o-mini · scripted", READY)
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(desk.home),
        "PYTHONPATH": str(tree.ROOT),
        "LANG": "C.UTF-8",
    }
    piped = subprocess.run(
        [sys.executable, "-m", "backscroll"],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
        cwd=desk.folder,
    )
    assert piped.returncode == 0
    assert "backscroll --help" in piped.stdout
    refused = subprocess.run(
        [sys.executable, "-m", "backscroll", "chat"],
        capture_output=True, text=True, env=environment, check=False, cwd=desk.folder, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert refused.returncode == 2
    assert "needs a terminal" in refused.stderr
