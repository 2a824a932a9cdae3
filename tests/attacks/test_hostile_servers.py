"""MCP servers that die, hang, flood and lie: none of them ends a run, blocks it or prints over it."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from backscroll.agent.events import Finished, Noted
from backscroll.agent.mcp.client import connect
from backscroll.agent.mcp.servers import McpServer
from backscroll.agent.toolbox import Toolbox
from tests.agent.scripted_agent import call, lines, stage
from tests.agent.workbench import bench

PROGRAM = str(Path(__file__).parents[1] / "agent" / "hostile_server.py")


def hostile(mode: str, *more: str, seconds: float = 20.0) -> McpServer:
    return McpServer(mode.replace("_", "-"), sys.executable, (PROGRAM, mode, *more), seconds=seconds)


@pytest.fixture(autouse=True)
def _nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    """Whatever a server does: nothing reaches the screen, by a log, a traceback or the server's own hand."""
    logging.captureWarnings(False)
    yield
    out, err = capfd.readouterr()
    assert out == ""
    assert err == ""


def running(mode: str) -> list[int]:
    """Processes of the hostile program in a mode that are still there."""
    found: list[int] = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            words = (place / "cmdline").read_bytes().decode().split("\0")
        except OSError:
            continue
        if PROGRAM in words and mode in words and words[words.index(PROGRAM) + 1] == mode:
            found.append(int(place.name))
    return found


def test_one_bad_tool_does_not_hide_the_others(tmp_path: Path) -> None:
    with connect(tmp_path, [hostile("bad-schema")], 60) as found, bench(tmp_path) as at:
        assert [tool.name for tool in found.tools] == ["bad-schema__good"]
        [problem] = found.problems
        assert "8 left out" in problem
        assert "text" in problem
        at.toolbox = Toolbox(found.tools)
        assert at.call("bad-schema__good").text == "fine"


def test_too_many_tools_are_cut_off(tmp_path: Path) -> None:
    with connect(tmp_path, [hostile("many")], 60) as found:
        assert len(found.tools) == 128
        assert "left out" in found.problems[0]


@pytest.mark.parametrize("mode", ["noise", "noise-stderr", "terminal"])
def test_noise_beside_the_protocol_is_dropped(tmp_path: Path, mode: str) -> None:
    with connect(tmp_path, [hostile(mode)], 60) as found, bench(tmp_path) as at:
        assert found.problems == ()
        at.toolbox = Toolbox(found.tools)
        assert at.call(f"{mode}__good").text == "fine"


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        ("die", "ended"),
        ("hang", "did not answer within 2 seconds"),
        ("wrong-id", "did not answer within 2 seconds"),
        ("flood-line", "more than 32 MB"),
        ("flood-lines", "not JSON-RPC"),
        ("flood-notes", "answer nothing"),
    ],
)
def test_unusable_server_is_reported_in_one_line(tmp_path: Path, mode: str, said: str) -> None:
    seconds = 2.0 if "2 seconds" in said else 60.0
    with connect(tmp_path, [hostile(mode, seconds=seconds), hostile("fine")], 90) as found:
        assert [tool.name for tool in found.tools] == ["fine__good"]
        [problem] = found.problems
        assert f"the MCP server {mode} " in problem
        assert said in problem
        assert "\n" not in problem
    assert running(mode) == []


@pytest.mark.parametrize(
    "mode",
    [
        "lies-list",
        "lies-content",
        "lies-flag",
        "lies-null",
        "lies-picture",
        "control",
        "die-call",
        "hang-call",
    ],
)
def test_bad_answer_to_a_call_becomes_a_result(tmp_path: Path, mode: str) -> None:
    with (
        connect(tmp_path, [hostile(mode, seconds=2.0 if mode == "hang-call" else 20.0)], 60) as found,
        bench(tmp_path) as at,
    ):
        at.toolbox = Toolbox(found.tools)
        output = at.call(f"{mode}__good")
        assert output.text
        assert (
            output.is_error == (mode not in ("control", "lies-picture", "lies-flag")) or mode == "lies-flag"
        )
        assert "\x1b" not in output.text
        output.text.encode()


def test_slow_server_does_not_delay_start_and_joins_later(tmp_path: Path) -> None:
    slow = McpServer(
        "slow",
        "sh",
        ("-c", f"while [ ! -e go ]; do sleep 0.05; done; exec {sys.executable} {PROGRAM} fine"),
        cwd=str(tmp_path),
        seconds=60.0,
    )
    with connect(tmp_path, [slow, hostile("fine")], 0.2) as found:
        found.gather(60) if len(found.starting) > 1 else None
        assert "slow" in " ".join(found.problems)
        (tmp_path / "go").touch()
        tools, problems = [], []
        for _ in range(600):
            more, wrong = found.gather(0.1)
            tools, problems = [*tools, *more], [*problems, *wrong]
            if not found.starting:
                break
        assert "slow__good" in [tool.name for tool in found.tools]
        assert problems == []


@pytest.mark.parametrize("mode", ["hang", "stubborn"])
def test_close_kills_a_server_that_does_not_exit(tmp_path: Path, mode: str) -> None:
    found = connect(tmp_path, [hostile(mode, seconds=600.0)], 1.0)
    found.close()
    assert running(mode) == []


def test_agent_answers_despite_every_bad_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole agent: wrong tables, bad schemas, death and noise, and one server that works."""
    modes = ["bad-schema", "noise", "die", "flood-lines", "fine"]
    tables = [
        f"[mcp.{mode}]\ncommand = {json.dumps(sys.executable)}\nargs = {json.dumps([PROGRAM, mode])}\n"
        for mode in modes
    ]
    tables += [
        "[mcp.typo]\ncomand = 'x'\n",
        '[mcp.unset]\ncommand = "${NOT_SET_ANYWHERE}"\n',
        "[mcp.absent]\ncommand = '/no/such/program'\n",
    ]
    config = tmp_path / "config.toml"
    config.write_text("\n".join(tables))
    monkeypatch.setenv("BACKSCROLL_CONFIG", str(config))
    with stage(tmp_path, *lines(call("fine__good"), "done")) as at:
        seen = at.say("hello")
        ended = seen[-1]
        assert isinstance(ended, Finished)
        assert (ended.end, ended.text) == ("answered", "done")
        assert "fine" in at.sent()
        notes = " ".join(n.text for n in seen if isinstance(n, Noted) and n.kind == "mcp")
        for name in ("bad-schema", "die", "flood-lines", "typo", "unset", "absent"):
            assert name in notes
        assert isinstance(at.say("again")[-1], Finished)
        at.agent.close()
    for mode in modes:
        assert running(mode) == []
