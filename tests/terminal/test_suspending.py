"""Ctrl-Z and `fg` in a real shell: a sane terminal in both."""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path

import pytest

from backscroll.testing import Line
from backscroll.testing.scenario import ScriptedCall
from tests.terminal.conftest import READY, Desk
from tests.terminal.terminal import CTRL_D, ENTER, PATIENCE, Terminal

CTRL_Z = "\x1a"
BASH = shutil.which("bash")
pytestmark = pytest.mark.skipif(BASH is None, reason="no shell with job control here")


def shell(desk: Desk) -> Terminal:
    """A shell in which the chat runs."""
    terminal = desk.program(
        str(BASH), "--norc", "--noprofile", "-i", PS1="SHELL> ", BASH_SILENCE_DEPRECATION_WARNING="1"
    )
    terminal.wait_for("SHELL>")
    terminal.enter(f"{sys.executable} -m backscroll chat")
    terminal.wait_for(READY)
    return terminal


def sane(terminal: Terminal, number: int) -> None:
    """The shell has its terminal back: the cursor is seen, what is typed appears, and its modes are the usual ones."""
    end = time.monotonic() + PATIENCE
    while not terminal.screen().rstrip().endswith("SHELL>"):  # not one that stands further up
        assert time.monotonic() < end, terminal.screen()
        time.sleep(0.02)
    assert not terminal.model.cursor.hidden
    terminal.enter(f"echo $((10 * {number})) $(stty -a | grep -c -e -echo[^a-z] -e -icrnl)")
    terminal.wait_for(f"\n{number}0 0\n")


def test_chat_can_be_suspended_anywhere(desk: Desk, tmp_path: Path) -> None:
    go = tmp_path / "go"
    desk.model(
        Line(text="Words that came. Words after.", chunk=17, times=1, wait_for_file=str(go), wait_after=2),
        Line(calls=(ScriptedCall("run_command", {"command": "touch made"}),), times=1),
        Line(text="All of it."),
    )
    terminal = shell(desk)
    terminal.type("a draft")
    terminal.wait_for("› a draft")
    terminal.type(CTRL_Z)
    terminal.wait_for("Stopped", "SHELL>")
    sane(terminal, 1)
    terminal.enter("fg")
    terminal.wait_for("› a draft", READY)
    terminal.type(ENTER)
    terminal.wait_for("Words that came.", "Ctrl-C to stop")
    terminal.type(CTRL_Z)
    terminal.wait_for("Stopped", "SHELL>", gone="Ctrl-C to stop")
    sane(terminal, 2)
    terminal.enter("fg")
    terminal.wait_for("Ctrl-C to stop")
    go.touch()
    terminal.wait_for("Words after.", READY, gone="Ctrl-C to stop")
    terminal.enter("make it")
    terminal.wait_for("y allow")
    terminal.type(CTRL_Z)
    terminal.wait_for("Stopped", "SHELL>", gone="y allow")
    sane(terminal, 3)
    terminal.enter("fg")
    terminal.wait_for("y allow")
    terminal.type("y")
    terminal.wait_for("All of it.", READY)
    assert (desk.folder / "made").exists()
    terminal.type(CTRL_D)
    terminal.wait_for("SHELL>", gone=READY)
    sane(terminal, 4)
