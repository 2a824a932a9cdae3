"""A small MCP server for tests: over stdio, or with a port as its argument over HTTP on loopback."""

from __future__ import annotations

import base64
import os
import sys
import time
from typing import Any

from mcp.server.mcpserver import Image, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, EmbeddedResource, TextContent, TextResourceContents, ToolAnnotations

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


if __name__ == "__main__":
    print("the harbour is open", file=sys.stderr, flush=True)
    if len(sys.argv) > 1:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
    else:
        server.run("stdio")
