"""Broken MCP servers: a line about each, and the chat goes on; handles of another thread."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed")

import backscroll
from tests.terminal.journeys.stage import BUSY, READY, Stage, call

PROGRAM = str(Path(__file__).parents[2] / "agent" / "hostile_server.py")


def table(mode: str) -> str:
    """The table of a server of the configuration file."""
    args = json.dumps([PROGRAM, mode])
    return f"[mcp.{mode}]\ncommand = {json.dumps(sys.executable)}\nargs = {args}\n"


@pytest.mark.parametrize(
    ("language", "allow", "said"),
    [
        ("en", "y allow", ["8 left out", "the MCP server die ended", "[mcp.typo]"]),
        ("zh", "y 允许", ["8 项未采用", "MCP 服务器 die 已结束", "[mcp.typo]"]),
    ],
)
def test_broken_mcp_servers_do_not_end_the_chat(
    stage: Stage, language: str, allow: str, said: list[str]
) -> None:
    """A bad schema, noise, a crash, a flood, a wrong table: one line each, and the good server still works."""
    modes = ["bad-schema", "noise", "die", "flood-lines", "fine"]
    settings = "\n".join(map(table, modes)) + "\n[mcp.typo]\ncomand = 'x'\n"
    stage.plays(
        {"calls": [call("fine__good")]}, {"text": "All done."}, {"text": "Still here."}, settings=settings
    )
    terminal = stage.ready(columns=120, BACKSCROLL_LANGUAGE=language)
    terminal.enter("hello")
    terminal.wait_for("fine__good", allow)
    terminal.type("y")
    terminal.wait_for("All done.", READY, gone=BUSY)
    shown = terminal.everything()
    for words in said:
        assert words in shown
    assert "Traceback" not in shown
    terminal.enter("are you there?")
    terminal.wait_for("Still here.", READY, gone=BUSY)


def test_handle_of_another_thread_can_be_expanded(stage: Stage) -> None:
    """A handle quoted by `recall` names its thread, and `expand` follows it."""
    with backscroll.open(stage.store) as store:
        other = store.create("harbour", project="p")
        said = other.append("user", "The anchor chain is 42 metres long.")
    handle = f"[bs:{other.id[:8]}.{said.id.seq}]"
    stage.plays({"calls": [call("expand", handle=handle)]}, {"text": "It is 42 metres."})
    terminal = stage.ready()
    terminal.enter("how long is the chain?")
    terminal.wait_for("It is 42 metres.", READY, gone=BUSY)
    assert "42 metres long" in stage.words()
    assert handle in stage.words()
