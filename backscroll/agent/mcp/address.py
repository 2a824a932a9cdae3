"""Transport to an MCP server over streamable HTTP, with limits.

Owns the HTTP client with its time limits and the limit on the size of one answer, and the filter that `pipe` uses too.
Refuses: the protocol (package `mcp`).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from backscroll.agent.mcp.pipe import LONGEST, Filter, PipeBroken, ServerOutput
from backscroll.agent.mcp.servers import McpServer


@asynccontextmanager
async def open_address(server: McpServer, output: ServerOutput) -> AsyncGenerator[Any, None]:
    """Connect to a server; yield the streams that the protocol's package expects."""
    import anyio
    import httpx2
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared.message import SessionMessage

    patience = httpx2.Timeout(server.seconds, read=server.seconds + 5)
    async with (
        httpx2.AsyncClient(
            headers=dict(server.headers),
            timeout=patience,
            event_hooks={"response": [_limit_response]},
        ) as http,
        streamable_http_client(server.url, http_client=http) as (read, write),
        anyio.create_task_group() as tasks,
    ):
        incoming, passed = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        checked = Filter(output)

        async def pass_on() -> None:
            async with incoming:
                try:
                    async for message in read:
                        if isinstance(message, Exception):
                            output.keep(f"{message}\n")
                            continue
                        checked.check(message.message)
                        await incoming.send(message)
                except PipeBroken as broken:
                    output.broken = str(broken)
                except (anyio.ClosedResourceError, anyio.BrokenResourceError):
                    return  # the end of the stream tells the session

        tasks.start_soon(pass_on)
        try:
            yield passed, write
        finally:
            tasks.cancel_scope.cancel()


async def _limit_response(response: Any) -> None:
    """Limit an answer to `LONGEST` bytes; in a stream of events, each event has its own limit."""
    if "text/event-stream" not in response.headers.get("content-type", ""):
        response.stream = _limit_stream(response.stream)


def _limit_stream(stream: Any) -> Any:
    import httpx2

    class BoundedStream(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            async for chunk in stream:
                size += len(chunk)
                if size > LONGEST:
                    raise httpx2.ReadError(f"an answer of more than {LONGEST // 1_000_000} MB")
                yield chunk

        async def aclose(self) -> None:
            await stream.aclose()

    return BoundedStream()
