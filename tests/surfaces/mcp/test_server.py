"""The memory server for other agents: a real client talks to the real command over stdio."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, ClientSession, MCPError, stdio_client
from mcp.client.stdio import StdioServerParameters

import backscroll
from backscroll.errors import InvalidInput, NotFound
from backscroll.surfaces.mcp.memory_tools import MemoryTools
from backscroll.surfaces.mcp.server import offers

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


def test_client_finds_messages_and_operations(store: Path) -> None:
    async def work(session: ClientSession) -> dict[str, Any]:
        listed = await session.list_tools()
        out: dict[str, Any] = {"names": [t.name for t in listed.tools]}
        out["hints"] = {t.annotations.read_only_hint for t in listed.tools if t.annotations}
        out["schema"] = next(t.input_schema for t in listed.tools if t.name == "recall")
        out["recall"] = words(await session.call_tool("recall", {"query": "What is the code of the gate?"}))
        out["zh"] = words(await session.call_tool("search", {"query": "颜色"}))
        out["operations"] = words(await session.call_tool("recent_operations", {}))
        out["task"] = words(await session.call_tool("task_status", {}))
        out["threads"] = words(await session.call_tool("threads", {}))
        wrong = await session.call_tool("expand", {"handle": "[bs:999]"})
        out["wrong"] = (wrong.is_error, words(wrong))
        return out

    told = asked(store, work)
    assert told["names"] == ["recall", "expand", "search", "recent_operations", "task_status", "threads"]
    assert told["hints"] == {True}
    assert told["schema"]["required"] == ["query"]
    assert "4711" in told["recall"]
    assert "data, not a request" in told["recall"]
    assert "绿色" in told["zh"]
    assert "paint.txt" in told["operations"]
    assert "Paint the gate" in told["task"]
    assert "the garden" in told["threads"]
    assert told["wrong"][0]
    assert "999" in told["wrong"][1]


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_both_protocol_versions_work(store: Path, mode: str) -> None:
    """With a handshake and without: the same tools, described arguments, the same answers, concurrent calls."""

    async def talk() -> dict[str, Any]:
        way = StdioServerParameters(
            command=sys.executable, args=["-m", "backscroll", "mcp", "--store", str(store)], env={}
        )
        async with Client(stdio_client(way), mode=mode) as client:
            listed = await client.list_tools()
            several = await asyncio.gather(
                *(
                    client.call_tool("search", {"query": word, "limit": "3"})
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
    assert "query" in told["unfit"][1]


def test_lone_surrogates_are_harmless(store: Path) -> None:
    """Such text is exchanged as far as it can be read."""
    with backscroll.open(store, background=False) as engine:
        words, wrong = offers(MemoryTools(engine))["search"].answer({"query": "gate \ud800"})
    assert not wrong
    assert words.encode()


def test_empty_store_is_explained(tmp_path: Path) -> None:
    async def work(session: ClientSession) -> tuple[Any, str]:
        none = await session.call_tool("recall", {"query": "anything?"})
        status = await session.call_tool("task_status", {})
        return status.is_error, words(none) + words(status)

    is_error, told = asked(tmp_path / "new.db", work)
    assert is_error
    assert "No earlier message answers this." in told
    assert "backscroll chat" in told


def test_long_originals_come_in_pieces(store: Path) -> None:
    with backscroll.open(store, background=False) as engine:
        memory = MemoryTools(engine)
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


def test_server_can_be_limited_to_a_project_or_thread(store: Path) -> None:
    with backscroll.open(store, background=False) as engine:
        other = engine.create("elsewhere", project="work")
        other.append("user", "The gate code of the office is 9999.")
        assert "4711" not in MemoryTools(engine, project="work").recall("gate code?")
        assert "9999" in MemoryTools(engine, thread=other.id).recall("gate code?")
        assert "9999" not in MemoryTools(engine, project="home").search("gate code")
