"""The MCP handshake without the SDK: the same answers, and nothing lost when the SDK takes over."""

from __future__ import annotations

import asyncio
import io
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, cast

import anyio
import pytest
from mcp import ClientSession, stdio_client
from mcp.client.stdio import StdioServerParameters
from mcp.server.stdio import stdio_server

import backscroll
from backscroll.surfaces.mcp.handshake import VERSIONS
from backscroll.surfaces.mcp.memory_tools import MemoryTools
from backscroll.surfaces.mcp.server import ToolEndpoint, handshake_for, offers, server_for

INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
LIST = {"jsonrpc": "2.0", "id": "two", "method": "tools/list"}
CLIENT = {"name": "client", "version": "1.0"}


def initialize(
    version: object = "2025-11-25",
    capabilities: object = None,
    client: object = None,
    **more: object,
) -> dict[str, Any]:
    params = {
        "protocolVersion": version,
        "capabilities": {} if capabilities is None else capabilities,
        "clientInfo": client or CLIENT,
    }
    return {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {**params, **more}}


@pytest.fixture
def known(tmp_path: Path) -> Iterator[dict[str, ToolEndpoint]]:
    with backscroll.open(tmp_path / "s.db", background=False) as engine:
        yield offers(MemoryTools(engine))


def lines(*requests: object) -> list[bytes]:
    return [json.dumps(request).encode() + b"\n" for request in requests]


def answers_of_the_sdk(known: dict[str, ToolEndpoint], sent: list[bytes], answers: int) -> list[Any]:
    written = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)

    def told() -> list[bytes]:
        return written.buffer.getvalue().splitlines()

    async def source() -> AsyncIterator[str]:
        for line in sent:
            yield line.decode()
        while len(told()) < answers:  # noqa: ASYNC110 - what is under way when the input ends is dropped
            await anyio.sleep(0.005)

    async def answer() -> None:
        server = server_for(known)
        with anyio.fail_after(60):
            async with stdio_server(cast("Any", source()), anyio.wrap_file(written)) as (incoming, outgoing):
                await server.run(incoming, outgoing, server.create_initialization_options())

    anyio.run(answer)
    return [json.loads(line) for line in told()]


@pytest.mark.parametrize("version", sorted(VERSIONS))
@pytest.mark.parametrize(
    ("capabilities", "client"),
    [
        ({}, CLIENT),
        ({"roots": {}}, {**CLIENT, "title": "客户", "websiteUrl": "https://example.org"}),
        ({"roots": {"listChanged": True}, "sampling": {}, "elicitation": {"form": {}, "url": {}}}, CLIENT),
        ({"sampling": {"context": {}, "tools": {}}, "elicitation": {}}, {**CLIENT, "description": ""}),
    ],
)
def test_handshake_answers_like_the_sdk(
    known: dict[str, ToolEndpoint], version: str, capabilities: object, client: object
) -> None:
    sent = lines(
        initialize(version, capabilities, client),
        {"jsonrpc": "2.0", "id": 2, "method": "ping"},
        INITIALIZED,
        {**LIST, "params": {}},
        {"jsonrpc": "2.0", "id": 2**40, "method": "ping", "params": {}},
    )
    handshake = handshake_for(known)
    answered = [handshake.answer(line) for line in sent]
    assert None not in answered
    ours = [json.loads(answer) for answer in answered if answer]
    assert len(ours) == 4
    assert sorted(ours, key=str) == sorted(answers_of_the_sdk(known, sent, len(ours)), key=str)
    assert handshake.settled == [sent[0], sent[2]]


@pytest.mark.parametrize(
    "first",
    [
        initialize("2030-01-01"),
        initialize(["2025-11-25"]),
        initialize(capabilities={"experimental": {"a": {}}}),
        initialize(capabilities={"roots": {"listChanged": "yes"}}),
        initialize(capabilities=[]),
        initialize(client={"name": "no version"}),
        initialize(client={**CLIENT, "icons": []}),
        initialize(_meta={}),
        {**initialize(), "id": True},
        {**initialize(), "id": None},
        {**initialize(), "jsonrpc": "1.0"},
        {**initialize(), "more": 1},
        {"jsonrpc": "2.0", "id": 1, "method": "server/discover"},
        INITIALIZED,
        LIST,
        [],
        "initialize",
    ],
    ids=str,
)
def test_unusual_opening_is_left_to_the_sdk(known: dict[str, ToolEndpoint], first: object) -> None:
    handshake = handshake_for(known)
    assert handshake.answer(lines(first)[0]) is None
    assert handshake.settled == []


@pytest.mark.parametrize("line", [b"\n", b"{\n", b"\xff\n", b'{"jsonrpc":"2.0","id":1,"method":7}\n'])
def test_lines_that_are_not_requests_are_left_to_the_sdk(known: dict[str, ToolEndpoint], line: bytes) -> None:
    assert handshake_for(known).answer(line) is None


def test_out_of_order_messages_are_left_to_the_sdk(known: dict[str, ToolEndpoint]) -> None:
    handshake = handshake_for(known)
    first, ready, again, listing = lines(initialize(), INITIALIZED, initialize(), LIST)
    assert handshake.answer(first)
    assert handshake.answer(listing) is None
    assert handshake.answer(ready) == b""
    assert handshake.answer(again) is None
    assert handshake.answer(lines({**LIST, "params": {"cursor": "x"}})[0]) is None
    assert handshake.answer(listing)


def served(store: Path, sent: bytes, answers: int) -> list[Any]:
    """What `backscroll mcp` writes when all of this comes in one write; then the client hangs up."""
    command = [sys.executable, "-m", "backscroll", "mcp", "--store", str(store)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(sent)
        process.stdin.flush()
        told = [json.loads(process.stdout.readline()) for _ in range(answers)]
        process.stdin.close()
        assert process.stdout.read() == b""
    assert process.returncode == 0
    return told


def test_handover_to_the_sdk_loses_and_repeats_nothing(tmp_path: Path) -> None:
    """One write with everything: lines already in our buffer reach the SDK."""
    calls = [
        {
            "jsonrpc": "2.0",
            "id": number,
            "method": "tools/call",
            "params": {"name": "search", "arguments": {"query": f"词 {number}"}},
        }
        for number in range(10, 20)
    ]
    told = served(tmp_path / "s.db", b"".join(lines(initialize(), INITIALIZED, LIST, *calls, LIST)), 13)
    assert sorted(str(answer["id"]) for answer in told) == sorted(
        ["1", "two", "two", *map(str, range(10, 20))]
    )
    assert [answer["id"] for answer in told[:2]] == [1, "two"]
    assert {answer["result"]["content"][0]["text"] for answer in told if answer["id"] in range(10, 20)} == {
        "No message contains these words."
    }
    first, second = (answer["result"]["tools"] for answer in told if answer["id"] == "two")
    assert first == second


def test_session_that_only_lists_tools_ends_with_its_input(tmp_path: Path) -> None:
    told = served(tmp_path / "s.db", b"".join(lines(initialize(), INITIALIZED, LIST)), 2)
    assert [answer["id"] for answer in told] == [1, "two"]


def test_invalid_opening_gets_the_error_of_the_sdk(tmp_path: Path) -> None:
    told = served(tmp_path / "s.db", b"".join(lines(initialize(capabilities=[]), LIST)), 2)
    assert {answer["id"]: "error" in answer for answer in told} == {1: True, "two": True}


def test_client_can_mix_requests_after_the_opening(tmp_path: Path) -> None:
    async def talk() -> list[bool]:
        way = StdioServerParameters(
            command=sys.executable,
            args=["-m", "backscroll", "mcp", "--store", str(tmp_path / "s.db")],
            env={},
        )
        async with stdio_client(way) as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            await session.send_ping()
            listed = await session.list_tools()
            called = await session.call_tool("threads", {})
            again = await session.list_tools()
            await session.send_ping()
            return [called.is_error or False, listed.tools == again.tools]

    assert asyncio.run(talk()) == [False, True]
