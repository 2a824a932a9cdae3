"""A small MCP server for tests: over stdio, or with a port as its argument over HTTP on loopback."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import time
from typing import Annotated, Any, Literal

from mcp.server.mcpserver import Elicit, ElicitationResult, Image, MCPServer, Resolve, Sample
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import (
    CallToolResult,
    CreateMessageResult,
    EmbeddedResource,
    SamplingMessage,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
)
from pydantic import BaseModel, Field

server = MCPServer("harbour")
PNG = b"\x89PNG\r\n\x1a\n" + b"\x00" * 40


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def tide(place: str, hour: int = 12) -> str:
    """Tell the tide of a place."""
    return f"{place} {hour}: 涨潮"


@server.tool()
def fail(words: str) -> str:
    """Fail with some words."""
    raise ToolError(words)


@server.tool()
def picture() -> Image:
    """Give a picture."""
    return Image(data=PNG, format="png")


@server.tool()
def numbers() -> dict[str, int]:
    """Give data."""
    return {"one": 1}


@server.tool()
def book() -> CallToolResult:
    """Give a resource."""
    held = TextResourceContents(uri="file:///log.txt", text="page one", mime_type="text/plain")
    return CallToolResult(
        content=[EmbeddedResource(type="resource", resource=held), TextContent(type="text", text="end")]
    )


@server.tool()
def die() -> str:
    """End the server in the middle of a call."""
    os._exit(3)


@server.tool()
def slow(seconds: float) -> str:
    """Take some time."""
    time.sleep(seconds)
    return "awake"


@server.tool()
def flood(size: int) -> str:
    """Give much."""
    return "x" * size


@server.tool()
def number() -> str:
    """Tell the number of the process and what it was given."""
    return f"{os.getpid()} {os.environ.get('HARBOUR', '')} {os.environ.get('OPENAI_API_KEY', 'no key')}"


@server.tool(name="with strange/名字 and a name that is far too long for every wire there is in the world")
def strange(data: dict[str, Any]) -> str:
    """Have a strange name."""
    return base64.b64encode(str(data).encode()).decode()


class Berth(BaseModel):
    """What the harbour wants to know."""

    ship: str = Field(description="the name of the ship")
    draught: int = Field(description="in decimetres", ge=1, le=200)
    side: Literal["port", "starboard"] = "port"
    tug: bool = False


def ask_berth() -> Elicit[Berth]:
    """Have the person say it."""
    return Elicit("Which berth?", Berth)


@server.tool()
def moor(berth: Annotated[ElicitationResult[Berth], Resolve(ask_berth)]) -> str:
    """Ask the person for a berth."""
    return f"accepted: {berth.data.model_dump()}" if berth.action == "accept" else berth.action


def ask_model() -> Sample:
    """Have a model of the client's say it."""
    message = SamplingMessage(role="user", content=TextContent(type="text", text="think"))
    return Sample([message], max_tokens=10)


@server.tool()
def think(thought: Annotated[CreateMessageResult, Resolve(ask_model)]) -> str:
    """Ask for a model of the client's."""
    return f"it thought: {thought}"


@server.resource("harbour://log", title="The log", mime_type="text/plain")
def log() -> str:
    """Who came in."""
    return "Fram\n前进号"


@server.resource("harbour://flag", mime_type="image/png")
def flag() -> bytes:
    """The flag."""
    return PNG


@server.resource("harbour://berth/{number}")
def berth(number: str) -> str:
    """Who lies at a berth."""
    return f"berth {number}: empty"


def relay() -> None:
    """Stand before the server as one of the older generation: it does not know how it could be discovered."""
    inner = subprocess.Popen(
        [sys.executable, __file__],
        stdin=subprocess.PIPE,
        stdout=sys.stdout,
        env={**os.environ, "HARBOUR": "open"},
    )
    assert inner.stdin is not None
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        if asked.get("method") == "server/discover":
            refusal = {"code": -32601, "message": "Method not found"}
            answer = {"jsonrpc": "2.0", "id": asked["id"], "error": refusal}
            os.write(1, json.dumps(answer).encode() + b"\n")
        else:
            inner.stdin.write(line)
            inner.stdin.flush()
    inner.stdin.close()
    inner.wait()


if __name__ == "__main__":
    if os.environ.get("HARBOUR") == "old":
        relay()
        sys.exit()
    print("the harbour is open", file=sys.stderr, flush=True)
    if len(sys.argv) > 1:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
    else:
        server.run("stdio")
