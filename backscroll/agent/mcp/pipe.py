"""Transport to an MCP server that runs as a program, with limits.

Owns starting the program in a session of its own (it cannot reach the terminal), reading its lines, keeping the last of what it
prints to standard error, and ending it with all of its children. Bounds the length of a line, the number of lines that are not
JSON-RPC and the number of messages that answer nothing, so that a broken server costs neither memory nor the screen. A list of
tools is passed on without the entries that are not tools: one bad entry must not hide the others. Refuses: the protocol (package
`mcp`).
"""

from __future__ import annotations

import json
import os
import signal
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from backscroll.agent.mcp.servers import McpServer

if TYPE_CHECKING:
    from anyio.abc import ByteReceiveStream, Process
    from mcp.shared.message import SessionMessage

LONGEST = 32_000_000  # bytes of one message; a picture of 10 MB and its base64 fit
_DEEPEST = 100  # levels of nesting
_STRAY = 1_000  # lines that are not JSON-RPC, after which the program does not count as an MCP server
_UNASKED = 10_000  # messages in a row that answer nothing
_KEPT = 16_000  # characters of standard error and stray lines that are kept
_GENTLE, _HARD = 1.5, 2.0  # seconds from closing its input to SIGTERM, and from there to SIGKILL
_POLL = 0.02


class PipeBroken(Exception):
    """Raised if the server exceeds a limit; the message says which."""


@dataclass(slots=True)
class ServerOutput:
    """The end of what a server prints outside the protocol, and what was left out of its offer."""

    lines: deque[str] = field(default_factory=deque[str])
    size: int = 0
    left_out: list[str] = field(default_factory=list[str])
    broken: str = ""  # the limit it exceeded

    def keep(self, text: str) -> None:
        """Keep some text, and drop the oldest beyond the limit."""
        piece = text[-_KEPT:]
        self.lines.append(piece)
        self.size += len(piece)
        while self.size > _KEPT and len(self.lines) > 1:
            self.size -= len(self.lines.popleft())

    @property
    def text(self) -> str:
        """The kept text, in order."""
        return "".join(self.lines)


@asynccontextmanager
async def open_pipe(server: McpServer, root: Path, output: ServerOutput) -> AsyncGenerator[Any, None]:
    """Start a server's program; return the streams that the protocol's package wants."""
    import anyio
    from mcp.client.stdio import get_default_environment
    from mcp.shared.message import SessionMessage

    process = await anyio.open_process(
        [server.command, *server.args],
        env=get_default_environment() | dict(server.env),
        cwd=server.cwd or root,
        start_new_session=True,
    )
    incoming, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_listen, process, incoming, output)
        tasks.start_soon(_speak, process, outgoing, incoming)
        tasks.start_soon(_overhear, process, output)
        try:
            yield read, write
        finally:
            with anyio.CancelScope(shield=True):
                for stream in (read, write):
                    stream.close()
                await _end(process)
            tasks.cancel_scope.cancel()


async def _listen(process: Process, incoming: Any, output: ServerOutput) -> None:
    """Pass on what the server sends; the end of the stream ends the session's input."""
    import anyio

    assert process.stdout is not None
    checked = Filter(output)
    async with incoming:
        try:
            async for line in _lines(process.stdout, LONGEST):
                message = checked.take(line)
                if message is not None:
                    await incoming.send(message)
        except PipeBroken as broken:
            output.broken = str(broken)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
            return


async def _speak(process: Process, outgoing: Any, incoming: Any) -> None:
    """Write to the server; if it stops reading, tell the session, or a request would wait forever."""
    import anyio

    assert process.stdin is not None
    async with outgoing:
        try:
            async for message in outgoing:
                words = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                await process.stdin.send(words.encode("utf-8", "replace") + b"\n")
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
            await incoming.aclose()


async def _overhear(process: Process, output: ServerOutput) -> None:
    """Keep the last of what the server prints to standard error."""
    import anyio

    assert process.stderr is not None
    with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream, OSError):
        while True:
            output.keep((await process.stderr.receive()).decode("utf-8", "replace"))


async def _lines(source: ByteReceiveStream, longest: int) -> AsyncIterator[bytes]:
    """Yield the lines of a stream; one that is too long breaks the pipe before it is buffered."""
    import anyio

    pieces: list[bytes] = []
    size = 0
    while True:
        try:
            chunk = await source.receive()
        except anyio.EndOfStream:
            return
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            yield b"".join([*pieces, part])
            pieces, size = [], 0
        pieces.append(rest)
        size += len(rest)
        if size > longest:
            raise PipeBroken(f"it sent a message of more than {longest // 1_000_000} MB")


class Filter:
    """Filters which of a server's messages reach the protocol."""

    def __init__(self, output: ServerOutput) -> None:
        self.output = output
        self.stray = 0
        self.unasked = 0

    def take(self, line: bytes) -> SessionMessage | None:
        """Parse the message of a line; None if it is not one."""
        from mcp.shared.message import SessionMessage
        from mcp_types import jsonrpc_message_adapter

        try:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            try:
                message = jsonrpc_message_adapter.validate_python(_parse_leniently(line), by_name=False)
            except (ValueError, RecursionError):
                if line.strip():
                    self._count_stray(line)
                return None
        self.check(message)
        return SessionMessage(message)

    def check(self, message: object) -> None:
        """Count a message, and remove invalid parts."""
        from mcp_types import JSONRPCError, JSONRPCResponse

        if isinstance(message, JSONRPCResponse | JSONRPCError):
            self.unasked = 0
        else:
            self.unasked += 1
            if self.unasked > _UNASKED:
                raise PipeBroken(f"it sent {_UNASKED:,} messages that answer nothing")
        if isinstance(message, JSONRPCResponse):
            self.output.left_out += keep_valid(message.result)

    def _count_stray(self, line: bytes) -> None:
        self.stray += 1
        self.output.keep(line.decode("utf-8", "replace")[:500] + "\n")
        if self.stray > _STRAY:
            raise PipeBroken(f"it printed {_STRAY:,} lines to standard output that are not JSON-RPC")


def _parse_leniently(line: bytes) -> object:
    """Parse JSON that the strict reader rejects for one place in it: lone surrogates are replaced, deep nesting is cut off.

    Otherwise the whole answer would be lost, and its caller would wait until the time is up.
    """
    return _cut(json.loads(line), 0)


def _cut(value: object, depth: int) -> object:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if depth > _DEEPEST:
        return None
    if isinstance(value, dict):
        table = cast("dict[str, object]", value)
        return {str(_cut(key, depth)): _cut(inner, depth + 1) for key, inner in table.items()}
    if isinstance(value, list):
        return [_cut(inner, depth + 1) for inner in cast("list[object]", value)]
    return value


def keep_valid(result: dict[str, Any]) -> list[str]:
    """Remove invalid entries from a list of tools or resources; return which, and why."""
    from mcp_types import Resource, ResourceTemplate, Tool

    out: list[str] = []
    for key, kind in (("tools", Tool), ("resources", Resource), ("resourceTemplates", ResourceTemplate)):
        entries: Any = result.get(key)
        if not isinstance(entries, list):
            continue
        kept: list[Any] = []
        for entry in cast("list[Any]", entries):
            wrong = _wrong(kind.model_validate, entry)
            if wrong:
                out.append(f"{_name(entry)}: {wrong}")
            else:
                kept.append(entry)
        result[key] = kept
    return out


def _wrong(check: Callable[..., object], entry: object) -> str:
    from pydantic import ValidationError

    try:
        check(entry, by_name=False)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(step) for step in first["loc"])
        return f"{where}: {first['msg']}"
    except RecursionError:
        return "nested too deep"
    return ""


def _name(entry: object) -> str:
    name = cast("Mapping[str, object]", entry).get("name") if isinstance(entry, Mapping) else None
    return name[:80] if isinstance(name, str) else "an entry without a name"


async def _end(process: Process) -> None:
    """Close the program's input; end it and its children if it does not end by itself."""
    import anyio

    if process.stdin is not None:
        with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            await process.stdin.aclose()
    await _wait(lambda: process.returncode is not None, _GENTLE)
    # The group may outlive its leader: children that hold the pipes would keep us waiting.
    for number in (signal.SIGTERM, signal.SIGKILL):
        if not _signal_group(process.pid, number):
            break
        if await _wait(lambda: process.returncode is not None and not _signal_group(process.pid, 0), _HARD):
            break
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        await process.aclose()


async def _wait(done: Callable[[], bool], seconds: float) -> bool:
    import anyio

    with anyio.move_on_after(seconds):
        while not done():  # noqa: ASYNC110 - there is no event for the end of a process group
            await anyio.sleep(_POLL)
        return True
    return done()


def _signal_group(group: int, number: int) -> bool:
    """Signal a process group; return False if no process of it is left."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
