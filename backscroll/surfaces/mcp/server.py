"""The server: the questions of `memory_tools` over the Model Context Protocol, on stdin and stdout.

Owns the list of questions with a word on every argument, and turning errors of ours into results that say what to do; the protocol
itself, both its generations, is the business of its own package. Refuses: writing to the record, a network port, resources and
prompts (there are none). Before: `surfaces/mcp/memory_tools`. After: the command `mcp`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from backscroll import __version__
from backscroll.agent.arguments import check_arguments, read_arguments
from backscroll.agent.schema import Signature, signature_of
from backscroll.errors import BackscrollError, MissingExtra
from backscroll.surfaces.mcp.memory_tools import MemoryTools
from backscroll.vocab.part import Json

if TYPE_CHECKING:
    from mcp.server import Server

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
    """One question that can be asked."""

    work: Callable[..., str]
    signature: Signature
    old_arguments: Mapping[str, str] = field(default_factory=dict[str, str])

    def answer(self, given: Json) -> tuple[str, bool]:
        """Words, and whether they are an error: what is wrong is told to the model that asked."""
        try:
            named = self._with_new_names(read_arguments(given))
            arguments = check_arguments(self.signature.schema, named)
            words, wrong = self.work(**self.signature.values(arguments)), False
        except BackscrollError as error:
            words, wrong = str(error), True
        # Half a character, which no line can carry, becomes a question mark.
        return words.encode("utf-8", "replace").decode("utf-8"), wrong

    def _with_new_names(self, given: Mapping[str, Json]) -> dict[str, Json]:
        """Rename old arguments; standard error, which clients keep as a log, says so."""
        for old in self.old_arguments.keys() & given.keys():
            sys.stderr.write(f"warning: argument {old} is deprecated: use {self.old_arguments[old]}\n")
        return {self.old_arguments.get(name, name): value for name, value in given.items()}


def offers(memory: MemoryTools) -> dict[str, ToolEndpoint]:
    """All questions by name."""
    return {
        name: ToolEndpoint(
            work := getattr(memory, name), signature_of(work, name), OLD_ARGUMENTS.get(name, {})
        )
        for name in NAMES
    }


def server_for(memory: MemoryTools) -> Server[Any]:
    """A server that answers from one store; nothing runs yet."""
    try:
        import mcp_types as types
        from anyio import to_thread
        from mcp.server import Server
    except ImportError as error:
        raise MissingExtra(
            "serving the memory needs the package mcp", hint="pip install 'backscroll[mcp]'"
        ) from error
    known = offers(memory)
    looks_only = types.ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)

    async def list_tools(_context: object, _params: object) -> types.ListToolsResult:
        tools = [
            types.Tool(
                name=name,
                description=offer.signature.description,
                input_schema=dict(offer.signature.schema),
                annotations=looks_only,
            )
            for name, offer in known.items()
        ]
        return types.ListToolsResult(tools=tools)

    async def call_tool(_context: object, params: types.CallToolRequestParams) -> types.CallToolResult:
        offer = known.get(params.name)
        if offer is None:
            words, wrong = f"unknown tool: {params.name} (available: {', '.join(known)})", True
        else:  # a long recall keeps nobody waiting
            words, wrong = await to_thread.run_sync(offer.answer, params.arguments)
        return types.CallToolResult(content=[types.TextContent(text=words)], is_error=wrong)

    return Server(
        "backscroll",
        version=__version__,
        title="Backscroll",
        instructions=_ABOUT,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def serve(memory: MemoryTools) -> None:
    """Answer until the other side hangs up."""
    server = server_for(memory)  # before what follows: it says which package is missing

    import anyio
    from mcp.server.stdio import stdio_server

    async def answering() -> None:
        async with stdio_server() as (source, drain):
            await server.run(source, drain, server.create_initialization_options())

    anyio.run(answering)
