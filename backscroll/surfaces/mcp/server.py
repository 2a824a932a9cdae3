"""The server: the tools of `memory_tools` over the Model Context Protocol, on stdin and stdout.

Owns the list of tools with a description of every argument, and turning our errors into results that say what to do. The `mcp`
package speaks the protocol, in both its generations; it is loaded when a session goes beyond its opening (`surfaces/mcp/handshake`).
Refuses: writing to the store, a network port, resources and prompts (there are none).
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, BinaryIO

from backscroll import __version__
from backscroll.agent.arguments import check_arguments, read_arguments
from backscroll.agent.schema import Signature, signature_of
from backscroll.errors import BackscrollError, MissingExtra
from backscroll.surfaces.mcp.handshake import Handshake
from backscroll.surfaces.mcp.memory_tools import MemoryTools
from backscroll.vocab.part import Json

if TYPE_CHECKING:
    from mcp.server import Server

_TITLE = "Backscroll"
_ABOUT = (
    "The full record of earlier conversations and agent runs. Call `recall` before guessing about the past; pass handles such as "
    "[bs:3f2a9c1e.17] to `expand`."
)
#: Old names of arguments, which still work for one release.
OLD_ARGUMENTS: Mapping[str, Mapping[str, str]] = {
    "recall": {"question": "query"},
    "search": {"words": "query"},
}
NAMES = ("recall", "expand", "search", "recent_operations", "task_status", "threads")


@dataclass(frozen=True, slots=True)
class ToolEndpoint:
    """A tool that a client can call."""

    work: Callable[..., str]
    signature: Signature
    old_arguments: Mapping[str, str] = field(default_factory=dict[str, str])

    def answer(self, given: Json) -> tuple[str, bool]:
        """Return the answer, and whether it is an error: the calling model reads what was wrong."""
        try:
            named = self._with_new_names(read_arguments(given))
            arguments = check_arguments(self.signature.schema, named)
            words, wrong = self.work(**self.signature.values(arguments)), False
        except BackscrollError as error:
            words, wrong = str(error), True
        # A lone surrogate, which cannot be encoded, becomes a question mark.
        return words.encode("utf-8", "replace").decode("utf-8"), wrong

    def _with_new_names(self, given: Mapping[str, Json]) -> dict[str, Json]:
        """Rename old arguments; report it on standard error, which clients keep as a log."""
        for old in self.old_arguments.keys() & given.keys():
            sys.stderr.write(f"warning: argument {old} is deprecated: use {self.old_arguments[old]}\n")
        return {self.old_arguments.get(name, name): value for name, value in given.items()}


def offers(memory: MemoryTools) -> dict[str, ToolEndpoint]:
    """Return all tools by name."""
    return {
        name: ToolEndpoint(
            work := getattr(memory, name), signature_of(work, name), OLD_ARGUMENTS.get(name, {})
        )
        for name in NAMES
    }


def list_tools(known: Mapping[str, ToolEndpoint]) -> list[Json]:
    """Describe all tools as the protocol does: they only read, and a repeated call does no harm."""
    reads_only = {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False}
    return [
        {
            "name": name,
            "description": offer.signature.description,
            "inputSchema": dict(offer.signature.schema),
            "annotations": reads_only,
        }
        for name, offer in known.items()
    ]


def handshake_for(known: Mapping[str, ToolEndpoint]) -> Handshake:
    """Begin a session that needs no SDK yet; it describes this server as `server_for` does."""
    about = {
        "capabilities": {"tools": {"listChanged": False}},
        "instructions": _ABOUT,
        "serverInfo": {"name": "backscroll", "title": _TITLE, "version": __version__},
    }
    return Handshake(about, lambda: list_tools(known))


def server_for(known: Mapping[str, ToolEndpoint]) -> Server[Any]:
    """Build a server of the SDK that offers these tools; nothing runs yet."""
    # start-up: the SDK takes longer to load than everything else; a session that only lists tools does not need it
    import mcp_types as types
    from anyio import to_thread
    from mcp.server import Server

    async def answer_list(_context: object, _params: object) -> types.ListToolsResult:
        return types.ListToolsResult.model_validate({"tools": list_tools(known)}, by_name=False)

    async def answer_call(_context: object, params: types.CallToolRequestParams) -> types.CallToolResult:
        offer = known.get(params.name)
        if offer is None:
            words, wrong = f"unknown tool: {params.name} (available: {', '.join(known)})", True
        else:  # in a thread: a long recall does not block other requests
            words, wrong = await to_thread.run_sync(offer.answer, params.arguments)
        return types.CallToolResult(content=[types.TextContent(text=words)], is_error=wrong)

    return Server(
        "backscroll",
        version=__version__,
        title=_TITLE,
        instructions=_ABOUT,
        on_list_tools=answer_list,
        on_call_tool=answer_call,
    )


def serve(memory: MemoryTools) -> None:
    """Answer until the client disconnects."""
    if missing := [name for name in ("mcp", "mcp_types", "anyio") if find_spec(name) is None]:
        raise MissingExtra(
            f"serving the memory needs the package {missing[0]}", hint="pip install 'backscroll[mcp]'"
        )
    known = offers(memory)
    with wire() as (source, drain):
        handshake = handshake_for(known)
        for line in source:
            answer = handshake.answer(line)
            if answer is None:
                serve_rest(known, [*handshake.settled, line], source, drain)
                return
            drain.write(answer)
            drain.flush()


def serve_rest(
    known: Mapping[str, ToolEndpoint], settled: list[bytes], source: io.BufferedReader, drain: BinaryIO
) -> None:
    """Let the SDK answer the remaining requests.

    The lines settled without it are replayed first: those of the handshake, if there was one, and the first one it must answer. Its
    own answer to `initialize` is dropped, because the client has one.
    """
    # start-up: see `server_for`
    import anyio
    from mcp.server.stdio import stdio_server

    server = server_for(known)
    opening = io.BufferedReader(_Replayed(b"".join(settled), source))
    read = anyio.wrap_file(io.TextIOWrapper(opening, encoding="utf-8", errors="replace"))
    write = anyio.wrap_file(_Unrepeated(drain, drop=len(settled) > 1))

    async def answer_all() -> None:
        async with stdio_server(read, write) as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    anyio.run(answer_all)


class _Replayed(io.RawIOBase):
    """Bytes that were read already, then those that are still to come."""

    def __init__(self, first: bytes, rest: io.BufferedReader) -> None:
        self._first = io.BytesIO(first)
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        found = self._first.read(len(buffer)) or self._rest.read1(len(buffer))
        buffer[: len(found)] = found
        return len(found)


class _Unrepeated(io.TextIOWrapper):
    """Output without its first line, if the client has that line already."""

    def __init__(self, drain: BinaryIO, *, drop: bool) -> None:
        super().__init__(drain, encoding="utf-8", newline="\n")
        self._drop = drop

    def write(self, text: str, /) -> int:
        kept = text
        if self._drop:
            _, ended, kept = text.partition("\n")
            self._drop = not ended
        super().write(kept)
        return len(text)


@contextmanager
def wire() -> Generator[tuple[io.BufferedReader, BinaryIO]]:
    """Yield both ends of the client, reserved for us: stray output goes to standard error, and a program that we start reads nothing."""
    sys.stdout.flush()
    ends = os.dup(0), os.dup(1)
    try:
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)
        # The SDK reads in a thread that may still wait for a line when it ends: the descriptors stay open as long as the process.
        yield os.fdopen(ends[0], "rb", closefd=False), os.fdopen(ends[1], "wb", closefd=False)
    finally:
        os.dup2(ends[0], 0)
        os.dup2(ends[1], 1)
