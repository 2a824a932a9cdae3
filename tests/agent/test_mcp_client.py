"""Tools of MCP servers: a real server as a program, and one behind an address on loopback."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from backscroll.agent.mcp.client import McpServers, connect, schema_of, tool_name
from backscroll.agent.mcp.line import McpConnection, _CallTimeout
from backscroll.agent.mcp.servers import McpServer, server_of, usable_servers
from backscroll.agent.toolbox import NAME, Toolbox
from backscroll.errors import InvalidInput
from tests.agent.workbench import Bench, Told, bench

PROGRAM = str(Path(__file__).with_name("mcp_server.py"))


def harbour(**more: object) -> McpServer:
    return McpServer("harbour", sys.executable, (PROGRAM,), **more)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[McpServers]:
    """One server for many tests: starting it takes longer than all they ask of it."""
    with connect(tmp_path_factory.mktemp("harbour"), [harbour(env={"HARBOUR": "open"})]) as connected:
        assert connected.problems == ()
        yield connected


@pytest.fixture
def at(tmp_path: Path, running: McpServers) -> Iterator[Bench]:
    with bench(tmp_path) as made:
        made.toolbox = Toolbox(running.tools)
        yield made


def test_mcp_tools_get_a_name_schema_and_effect(at: Bench) -> None:
    names = at.toolbox.names
    assert "harbour__tide" in names
    assert all(NAME.fullmatch(name) for name in names)
    tide = at.toolbox.get("harbour__tide")
    assert tide.effect == "network"  # it says that it only looks, which nobody has to believe
    assert tide.description.startswith("Tell the tide of a place.")
    assert tide.parameters["required"] == ["place"]
    assert at.toolbox.get("harbour__fail").effect == "network"
    assert at.preview("harbour__tide", place="Oslo").line.startswith('harbour: tide(place="Oslo"')


def test_mcp_call_results(at: Bench) -> None:
    assert at.call("harbour__tide", place="Oslo", hour="7").text == "Oslo 7: 涨潮"
    failed = at.call("harbour__fail", words="the quay is closed")
    assert failed.is_error
    assert failed.text.startswith("[harbour__fail] ")
    assert "the quay is closed" in failed.text
    picture = at.call("harbour__picture")
    assert picture.media[0].media_type == "image/png"
    assert '"one"' in at.call("harbour__numbers").text
    assert at.call("harbour__book").text == "file:///log.txt:\npage one\nend"
    assert len(at.call("harbour__flood", size=1_000_000).text) == 1_000_000
    assert at.call("harbour__tide").text.startswith(
        "[harbour__tide] the arguments do not fit: 'place' is missing"
    )
    strange = next(name for name in at.toolbox.names if "strange" in name)
    assert not at.call(strange, data={"a": 1}).is_error


def test_mcp_resources_can_be_read(at: Bench) -> None:
    """Resources are listed and read by URI: texts, images; a missing one is an error result."""
    reader = at.toolbox.get("harbour__read_resource")
    assert reader.effect == "network"
    assert "harbour://log · The log · Who came in." in reader.description
    assert at.call("harbour__read_resource").text.splitlines()[-1].startswith("harbour://berth/{number}")
    assert at.call("harbour__read_resource", uri="harbour://log").text == "harbour://log:\nFram\n前进号"
    assert at.call("harbour__read_resource", uri="harbour://flag").media[0].media_type == "image/png"
    assert at.call("harbour__read_resource", uri="harbour://berth/7").text.endswith("berth 7: empty")
    missing = at.call("harbour__read_resource", uri="harbour://nothing")
    assert missing.is_error
    assert "harbour://nothing" in missing.text
    assert at.preview("harbour__read_resource", uri="harbour://log").line == "harbour: read harbour://log"


@dataclass
class Answering(Told):
    """A person who answers one after another."""

    said: list[str | None] = field(default_factory=list)

    def answer(self, question: str, options: Sequence[str] = ()) -> str | None:
        super().answer(question, options)
        return self.said.pop(0)


@pytest.fixture(scope="module", params=["open", "old"])
def asking(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[McpServers]:
    """A server of each generation of the protocol."""
    place = tmp_path_factory.mktemp(request.param)
    with connect(place, [harbour(env={"HARBOUR": request.param})]) as connected:
        assert connected.problems == ()
        yield connected


def asked_berth(tmp_path: Path, asking: McpServers, *said: str | None) -> tuple[str, Answering]:
    with bench(tmp_path) as at:
        at.toolbox = Toolbox(asking.tools)
        person = Answering(said=list(said))
        at.person = person
        return at.call("harbour__moor").text, person


def test_mcp_server_asks_the_person_during_a_call(tmp_path: Path, asking: McpServers) -> None:
    """One question per field; an invalid answer is asked again; an empty answer takes the default."""
    told, person = asked_berth(tmp_path, asking, "Fram", "deep", "45", "starboard", "")
    assert told == "accepted: {'ship': 'Fram', 'draught': 45, 'side': 'starboard', 'tug': False}"
    questions = [question for question, _ in person.asked]
    assert "The MCP server harbour asks: Which berth?" in questions[0]
    assert "the name of the ship" in questions[0]
    assert "whole number" in questions[2]
    assert [options for _, options in person.asked[3:]] == [("port", "starboard"), ("yes", "no")]


@pytest.mark.parametrize("said", [(None,), ("",), ("Fram", "x", "y", "z"), ("Fram", "999", "0", "-1")])
def test_declined_or_invalid_answers_are_not_sent(
    tmp_path: Path, asking: McpServers, said: tuple[str | None, ...]
) -> None:
    """Without a person, or after an empty or three invalid answers, the server gets a refusal and stays connected."""
    assert asked_berth(tmp_path, asking, *said)[0] == "decline"
    again = tmp_path / "again"
    again.mkdir()
    assert asked_berth(again, asking, "Fram", "45", "", "")[0].startswith("accepted: ")


def test_sampling_is_refused(tmp_path: Path, asking: McpServers) -> None:
    """Sampling is refused clearly."""
    with bench(tmp_path) as at:
        at.toolbox = Toolbox(asking.tools)
        done = at.call("harbour__think")
    assert done.is_error
    assert "sampling" in done.text.lower()


def test_call_does_not_time_out_while_the_person_answers(tmp_path: Path) -> None:
    """The limit of a call is for the server; a person may take longer."""
    line = McpConnection(harbour(), tmp_path)

    async def late() -> str:
        await asyncio.sleep(0.3)
        return "done"

    line._asking = 1
    assert asyncio.run(line._run_timed(late(), 0.01)) == "done"
    line._asking = 0
    with pytest.raises(_CallTimeout):
        asyncio.run(line._run_timed(asyncio.sleep(600), 0.01))
    line.close()


def test_mcp_server_gets_its_configured_environment_and_no_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "hunter2")
    with bench(tmp_path) as at, connect(at.root, [harbour(env={"HARBOUR": "open"})]) as connected:
        at.toolbox = Toolbox(connected.tools)
        assert at.call("harbour__number").text.endswith("open no key")


def test_dead_mcp_server_is_restarted(at: Bench) -> None:
    first = at.call("harbour__number").text.split()[0]
    died = at.call("harbour__die")
    assert died.is_error
    assert died.text.startswith("[harbour__die] the MCP server harbour ended")
    assert at.call("harbour__number").text.split()[0] != first


def test_read_only_call_is_retried_after_a_server_dies(at: Bench) -> None:
    pid = int(at.call("harbour__number").text.split()[0])
    os.kill(pid, 9)
    assert at.call("harbour__tide", place="Oslo").text == "Oslo 12: 涨潮"


def test_slow_mcp_server_times_out(tmp_path: Path) -> None:
    with bench(tmp_path) as at, connect(at.root, [harbour()]) as connected:
        quick = McpServer("harbour", sys.executable, (PROGRAM,), seconds=0.5)
        for line in connected.lines:
            line.server = quick
        at.toolbox = Toolbox(connected.tools)
        done = at.call("harbour__slow", seconds=20)
        assert done.is_error
        assert "did not answer within 0.5 seconds" in done.text


def test_person_can_stop_an_mcp_call(at: Bench) -> None:
    threading.Timer(0.3, at.stop.throw).start()
    assert (
        at.call("harbour__slow", seconds=20).text
        == "[harbour__slow] stopped by the person before it was done"
    )


def test_close_ends_the_server_process(tmp_path: Path) -> None:
    connected = connect(tmp_path, [harbour()])
    with bench(tmp_path) as at:
        at.toolbox = Toolbox(connected.tools)
        pid = int(at.call("harbour__number").text.split()[0])
    connected.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.parametrize(
    "server",
    [
        McpServer("none", "/no/such/program"),
        McpServer(
            "quits", sys.executable, ("-c", "import sys; print('no key given', file=sys.stderr); sys.exit(1)")
        ),
        McpServer(
            "babbles", sys.executable, ("-c", "print('hello'); import time; time.sleep(60)"), seconds=3
        ),
        McpServer("deaf", "", url="http://127.0.0.1:9/mcp", seconds=5),
    ],
    ids=lambda server: server.name,
)
def test_unusable_mcp_server_is_reported_and_the_others_work(tmp_path: Path, server: McpServer) -> None:
    with connect(tmp_path, [server, harbour()]) as connected:
        assert any(tool.name == "harbour__tide" for tool in connected.tools)
        [problem] = connected.problems
        assert f"the MCP server {server.name} " in problem
        if server.name == "quits":
            assert "no key given" in problem


def test_only_listed_tools_are_offered(tmp_path: Path) -> None:
    with connect(tmp_path, [harbour(tools=("tide",))]) as connected:
        assert [tool.name for tool in connected.tools] == ["harbour__tide"]


def test_mcp_server_over_http(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = subprocess.Popen(
        [sys.executable, PROGRAM, str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        connected = _reached(tmp_path, f"http://127.0.0.1:{port}/mcp")
        with connected, bench(tmp_path) as at:
            at.toolbox = Toolbox(connected.tools)
            assert at.call("far__tide", place="Bergen").text == "Bergen 12: 涨潮"
            program.kill()
            program.wait()
            gone = at.call("far__numbers")
            assert gone.is_error
            assert gone.text.startswith("[far__numbers] the MCP server far")
    finally:
        program.kill()
        program.wait()


def _reached(root: Path, url: str) -> McpServers:
    end = time.monotonic() + 60
    while True:
        connected = connect(root, [McpServer("far", url=url, headers={"x-key": "1"}, seconds=10)])
        if connected.tools or time.monotonic() > end:
            assert connected.problems == ()
            return connected
        connected.close()
        time.sleep(0.2)


# -- tables ------------------------------------------------------------------------------------------------------


def test_mcp_tables_of_the_configuration_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "config.toml"
    file.write_text(
        '[mcp.files]\ncommand = "npx"\nargs = ["-y", "server"]\nenv = { TOKEN = "${MY_TOKEN}" }\n'
        '[mcp.far]\nurl = "https://example.org/mcp"\nheaders = { Authorization = "Bearer ${MY_TOKEN}" }\nseconds = 5\n'
        '[mcp.rest]\ncommand = "x"\noff = true\n'
    )
    monkeypatch.setenv("BACKSCROLL_CONFIG", str(file))
    monkeypatch.setenv("MY_TOKEN", "hunter2")
    (files, far), problems = usable_servers()
    assert problems == []
    assert (files.command, files.args, files.env) == ("npx", ("-y", "server"), {"TOKEN": "hunter2"})
    assert (far.url, far.headers, far.seconds) == (
        "https://example.org/mcp",
        {"Authorization": "Bearer hunter2"},
        5.0,
    )
    assert "hunter2" not in repr(files) + repr(far)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({}, "needs a command or a url"),
        ({"command": "x", "url": "http://a"}, "not both"),
        ({"url": "ftp://a"}, "not an address"),
        ({"command": "x", "arg": []}, "unknown entry 'arg'"),
        ({"command": "x", "args": "y"}, "args is not a list of texts"),
        ({"command": 3}, "command is not a text"),
        ({"command": "x", "seconds": 0}, "seconds is not a number above 0"),
        ({"command": "${NOT_SET_ANYWHERE}"}, "NOT_SET_ANYWHERE is not set"),
        (["x"], "is not a table"),
    ],
)
def test_invalid_mcp_table_is_refused(table: object, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        server_of("files", table)


def test_nothing_starts_without_configured_servers(tmp_path: Path) -> None:
    """Nothing is imported or started."""
    assert connect(tmp_path) == McpServers(())


# -- names and schemas -------------------------------------------------------------------------------------------


def test_mcp_tool_names_are_valid_and_unique() -> None:
    assert tool_name("git", "log", set()) == "git__log"
    long = tool_name("s", "x" * 100, set())
    assert len(long) == 64
    assert long != tool_name("s", "x" * 101, set())
    assert tool_name("s", "名字", set()) != tool_name("s", "名子", set())
    assert tool_name("s", "a", {"s__a"}) != "s__a"


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (None, {"type": "object", "properties": {}}),
        ({}, {"type": "object", "properties": {}}),
        ({"type": "object", "properties": None, "required": ["x"]}, {"type": "object", "properties": {}}),
        (
            {"$schema": "s", "anyOf": [{}], "properties": {"a": {}}, "required": ["a", "b"]},
            {"properties": {"a": {}}, "type": "object", "required": ["a"]},
        ),
    ],
)
def test_server_schemas_are_normalised(given: object, wanted: object) -> None:
    assert schema_of(given) == wanted
