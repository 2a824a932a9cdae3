"""Long pastes in a real terminal: a mark in the line, the whole text in the log and in the prompt."""

from __future__ import annotations

from pathlib import Path

import backscroll
from backscroll.testing import Line
from tests.terminal.conftest import READY, Desk
from tests.terminal.journeys.stage import wait_until
from tests.terminal.terminal import CTRL_D, CTRL_O, ENTER, UP

LONG = "\n".join(f"log line {n} of @somebody" for n in range(240))
CHINESE = "\n".join(f"第{n}行：潮汐" for n in range(30))


def recorded(desk: Desk) -> str:
    """What the person said last."""
    with backscroll.open(str(desk.store), background=False) as store:
        thread = store.thread(next(iter(store.threads())).id)
        return [m.text for m in thread if m.role == "user"][-1]


def test_long_pastes_are_folded_and_sent_whole(desk: Desk) -> None:
    """Two in one message, with text between; an @ in a paste mentions no file."""
    desk.model(Line(text="I read it."))
    (desk.folder / "somebody").write_text("a file that nobody meant")
    terminal = desk.chat()
    terminal.wait_for(READY)
    terminal.type("first ")
    terminal.paste(LONG.replace("\n", "\r"))  # as terminals send it
    terminal.wait_for("first [pasted: 240 lines #1]")
    terminal.type(" then ")
    terminal.paste(CHINESE)
    shown = terminal.wait_for("then [pasted: 30 lines #2]")
    assert "log line 7" not in shown
    terminal.type(ENTER)
    terminal.wait_for("I read it.", READY)
    assert recorded(desk) == f"first {LONG} then {CHINESE}"
    assert "log line 239 of @somebody then 第0行" in desk.said()
    assert "a file that nobody meant" not in desk.said()
    terminal.type(CTRL_D)
    terminal.wait_for_end()
    again = desk.chat()
    again.wait_for(READY)
    again.type(UP)
    again.wait_for("first [pasted: 240 lines #1] then [pasted: 30 lines #2]")
    again.type(ENTER)
    again.wait_for("I read it.", READY)
    assert recorded(desk) == f"first {LONG} then {CHINESE}"


def test_paste_while_the_agent_works_is_folded_too(desk: Desk, tmp_path: Path) -> None:
    """It waits for the next message, as a mark, and is sent whole."""
    go, paused = tmp_path / "go", tmp_path / "paused"
    desk.model(
        Line(text="Wait a bit.", times=1, wait_for_file=str(go), wait_after=1, touch=str(paused)),
        Line(text="I read it."),
    )
    terminal = desk.chat()
    terminal.wait_for(READY)
    terminal.enter("hello")
    terminal.wait_for("Ctrl-C to stop")
    wait_until(paused.exists)
    terminal.type(CHINESE.replace("\n", "\r"))
    go.touch()
    terminal.wait_for("Wait a bit.", READY, "› [pasted: 30 lines #1]")
    terminal.type(ENTER)
    terminal.wait_for("I read it.", READY)
    assert recorded(desk) == CHINESE


def test_mark_is_deleted_as_one_and_unfolded_in_place(desk: Desk) -> None:
    """Backspace removes the whole paste; Ctrl-O puts its text into the line. In Chinese."""
    desk.model(Line(text="I read it."))
    terminal = desk.chat(language="zh")
    terminal.wait_for(READY)
    terminal.type("看 ")
    terminal.paste(LONG)
    terminal.wait_for("看 [粘贴：240 行 #1]")
    terminal.type("\x7f")
    terminal.wait_for("› 看", gone="粘贴")
    terminal.paste(CHINESE)
    terminal.wait_for("[粘贴：30 行 #1]")
    terminal.type("\x7f")
    terminal.wait_for("› 看", gone="粘贴")
    terminal.paste("\n".join("甲乙丙丁戊己庚辛壬癸子"))
    terminal.wait_for("[粘贴：11 行 #1]")
    terminal.type(CTRL_O)
    terminal.wait_for("› 看 甲", "  癸", "  子", gone="粘贴")
    terminal.type("！" + ENTER)
    terminal.wait_for("I read it.", READY)
    assert recorded(desk) == "看 " + "\n".join("甲乙丙丁戊己庚辛壬癸子") + "！"


def test_editor_gets_the_whole_text(desk: Desk, tmp_path: Path) -> None:
    """Unchanged pastes are folded again."""
    desk.model(Line(text="I read it."))
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\ngrep -c line "$1" > counted; printf "%s, edited" "$(cat "$1")" > "$1"\n')
    editor.chmod(0o755)
    terminal = desk.chat(EDITOR=str(editor), VISUAL=str(editor))
    terminal.wait_for(READY)
    terminal.paste(LONG)
    terminal.wait_for("› [pasted: 240 lines #1]")
    terminal.type("\x18\x05")
    terminal.wait_for("› [pasted: 240 lines #1], edited")
    assert (desk.folder / "counted").read_text().strip() == "240"
