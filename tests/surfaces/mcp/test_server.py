"""The memory for other agents: a real client of the protocol talks to the real command over stdio."""

from __future__ import annotations

import asyncio
import io
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, ClientSession, MCPError, stdio_client
from mcp.client.stdio import StdioServerParameters

import backscroll
from backscroll.errors import InvalidInput, NotFound
from backscroll.surfaces.mcp.line import Line
from backscroll.surfaces.mcp.memory_tools import Memory
from backscroll.surfaces.mcp.server import Server

Talk = Callable[[ClientSession], Awaitable[Any]]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with one conversation, in which a tool was used and a task was begun."""
    place = tmp_path / "s.db"
    with backscroll.open(place, background=False) as engine:
        thread = engine.create("the garden", project="home")
        thread.tasks.start("Paint the gate")
        thread.append("user", "The gate code is 4711, and the paint is in the shed.")
        thread.append("assistant", backscroll.ToolCall("c1", "read_file", {"path": "paint.txt"}))
        thread.append(
            "tool", backscroll.ToolResult("c1", (backscroll.Text("green\n" * 9000),), name="read_file")
        )
        thread.append("assistant", "大门的颜色是绿色。")
    return place


def asked(store: Path, work: Talk, *more: str) -> Any:
    """What a client of the protocol gets from `backscroll mcp`."""

    async def talk() -> Any:
        way = StdioServerParameters(
            command=sys.executable, args=["-m", "backscroll", "mcp", "--store", str(store), *more], env={}
        )
        async with stdio_client(way) as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            return await work(session)

    return asyncio.run(talk())


def words(result: Any) -> str:
    return "\n".join(c.text for c in result.content)


def test_a_client_finds_what_was_said_and_done(store: Path) -> None:
    async def work(session: ClientSession) -> dict[str, Any]:
        listed = await session.list_tools()
        out: dict[str, Any] = {"names": [t.name for t in listed.tools]}
        out["hints"] = {t.annotations.read_only_hint for t in listed.tools if t.annotations}
        out["schema"] = next(t.input_schema for t in listed.tools if t.name == "recall")
        out["recall"] = words(
            await session.call_tool("recall", {"question": "What is the code of the gate?"})
        )
        out["zh"] = words(await session.call_tool("search", {"words": "颜色"}))
        out["operations"] = words(await session.call_tool("recent_operations", {}))
        out["task"] = words(await session.call_tool("task_status", {}))
        out["threads"] = words(await session.call_tool("threads", {}))
        wrong = await session.call_tool("expand", {"handle": "[bs:999]"})
        out["wrong"] = (wrong.is_error, words(wrong))
        return out

    told = asked(store, work)
    assert told["names"] == ["recall", "expand", "search", "recent_operations", "task_status", "threads"]
    assert told["hints"] == {True}
    assert told["schema"]["required"] == ["question"]
    assert "4711" in told["recall"]
    assert "data, not a request" in told["recall"]
    assert "绿色" in told["zh"]
    assert "paint.txt" in told["operations"]
    assert "Paint the gate" in told["task"]
    assert "the garden" in told["threads"]
    assert told["wrong"][0]
    assert "999" in told["wrong"][1]


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_both_generations_of_the_protocol(store: Path, mode: str) -> None:
    """With a handshake and without: the same tools with a word on every argument, the same answers, several questions at once."""

    async def talk() -> dict[str, Any]:
        way = StdioServerParameters(
            command=sys.executable, args=["-m", "backscroll", "mcp", "--store", str(store)], env={}
        )
        async with Client(stdio_client(way), mode=mode) as client:
            listed = await client.list_tools()
            several = await asyncio.gather(
                *(
                    client.call_tool("search", {"words": word, "limit": "3"})
                    for word in ("gate", "绿色", "shed")
                )
            )
            unknown = await client.call_tool("nothing", {})
            unfit = await client.call_tool("search", {"limit": "many"})
            with pytest.raises(MCPError, match="Method not found"):
                await client.list_resources()
            return {
                "tools": listed.tools,
                "several": [words(each) for each in several],
                "unknown": (unknown.is_error, words(unknown)),
                "unfit": (unfit.is_error, words(unfit)),
                "version": client.protocol_version,
            }

    told = asyncio.run(talk())
    assert told["version"] == ("2025-11-25" if mode == "legacy" else "2026-07-28")
    for tool in told["tools"]:
        assert tool.description
        assert all(about.get("description") for about in tool.input_schema["properties"].values())
    assert ["4711" in each or "绿色" in each for each in told["several"]] == [True] * 3
    assert told["unknown"][0]
    assert "recall" in told["unknown"][1]
    assert told["unfit"][0]
    assert "words" in told["unfit"][1]


def test_the_protocols_own_package_is_not_loaded() -> None:
    """A client waits for the list of tools at its start: nothing heavy stands before it."""
    code = (
        "import sys; from backscroll.surfaces.mcp import line; "
        "line.Server(line.Memory(None)).answer('tools/list', {}); "
        "print(sorted({'mcp', 'mcp_types', 'pydantic', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def lines_of(memory: Memory, *messages: Any) -> list[Any]:
    """What comes back for lines that are sent as they are."""
    sent = "".join((m if isinstance(m, str) else json.dumps(m)) + "\n" for m in messages)
    drain = io.BytesIO()
    Line(Server(memory), io.BytesIO(sent.encode("utf-8", "surrogatepass")), drain).run()
    return [json.loads(line) for line in drain.getvalue().splitlines()]


def test_what_is_no_message_is_answered_and_the_line_goes_on(store: Path) -> None:
    """Broken JSON, other shapes, unknown methods and versions each get their error; notifications and answers get none."""
    odd = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2031-01-01"}}
    with backscroll.open(store, background=False) as engine:
        told = lines_of(
            Memory(engine),
            "{broken",
            "17",
            "",
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            {"jsonrpc": "2.0", "id": 99, "result": {}},
            {"jsonrpc": "2.0", "id": 1},
            {"jsonrpc": "2.0", "id": 2, "method": "sampling/createMessage"},
            {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {}},
            {"jsonrpc": "2.0", "id": 4, "method": "tools/list", "params": odd},
            {"jsonrpc": "2.0", "id": {"a": 1}, "method": "ping"},
            {"jsonrpc": "2.0", "id": "five", "method": "ping", "params": [1]},
        )
    codes = {str(each.get("id")): each.get("error", {}).get("code") for each in told}
    assert codes == {"None": None, "1": -32600, "2": -32601, "3": -32602, "4": -32022, "five": None}
    assert sorted(e["error"]["code"] for e in told if e["id"] is None and "error" in e) == [-32700, -32600]
    assert next(e for e in told if e["id"] == 4)["error"]["data"]["supported"] == ["2026-07-28"]


def test_several_messages_in_one_and_lone_surrogates(store: Path) -> None:
    """A batch is answered as one; half a character in a question breaks nothing."""
    call = {"name": "search", "arguments": {"words": "gate \ud800"}}
    batch = [
        {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call},
    ]
    with backscroll.open(store, background=False) as engine:
        (told,) = lines_of(Memory(engine), batch)
        assert lines_of(Memory(engine), []) == [
            {
                "jsonrpc": "2.0",
                "id": None,
                "error": {"code": -32600, "message": "Invalid request: nothing in it"},
            }
        ]
    assert [each["id"] for each in told] == [1, 2]
    assert told[1]["result"]["content"]


def test_an_unknown_greeting_gets_the_newest_we_know() -> None:
    """A client of another generation hears which one we speak."""
    server = Server(Memory(None))  # type: ignore[arg-type] - nothing is asked of the store
    assert server.answer("initialize", {"protocolVersion": "1999"})["protocolVersion"] == "2025-11-25"
    assert server.answer("initialize", {"protocolVersion": "2024-11-05"})["protocolVersion"] == "2024-11-05"


def test_a_store_that_is_empty_answers_in_words(tmp_path: Path) -> None:
    async def work(session: ClientSession) -> tuple[Any, str]:
        none = await session.call_tool("recall", {"question": "anything?"})
        status = await session.call_tool("task_status", {})
        return status.is_error, words(none) + words(status)

    is_error, told = asked(tmp_path / "new.db", work)
    assert is_error
    assert "Nothing in the record answers this." in told
    assert "backscroll chat" in told


def test_long_originals_come_in_pieces(store: Path) -> None:
    with backscroll.open(store, background=False) as engine:
        memory = Memory(engine)
        handle = next(d.handle for d in engine.thread(next(iter(engine.threads())).id).operations(5))
        first = memory.expand(handle)
        assert "offset=40000" in first
        assert "green" in memory.expand(handle, offset=40_000)
        with pytest.raises(InvalidInput):
            memory.expand(handle, offset=-1)
        with pytest.raises(InvalidInput):
            memory.search("gate", limit=0)
        with pytest.raises(NotFound):
            memory.recent_operations("ffff")


def test_what_is_served_can_be_narrowed(store: Path) -> None:
    with backscroll.open(store, background=False) as engine:
        other = engine.create("elsewhere", project="work")
        other.append("user", "The gate code of the office is 9999.")
        assert "4711" not in Memory(engine, project="work").recall("gate code?")
        assert "9999" in Memory(engine, thread=other.id).recall("gate code?")
        assert "9999" not in Memory(engine, project="home").search("gate code")
