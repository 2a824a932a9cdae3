"""The server: the questions of `memory_tools` over the Model Context Protocol, on stdin and stdout.

Owns registering them, turning our errors into results that say what to do, and keeping stdout for the protocol alone. Refuses:
writing to the record; a network port. Before: `surfaces/mcp/memory_tools`. After: the command `mcp`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

from backscroll import __version__
from backscroll.errors import BackscrollError, MissingExtra
from backscroll.surfaces.mcp.memory_tools import Memory

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

_ABOUT = (
    "The record of earlier conversations and agent runs, kept whole. Ask `recall` before guessing about the past; handles such as "
    "[bs:17] are expanded by `expand`."
)
NAMES = ("recall", "expand", "search", "recent_operations", "task_status", "threads")


def server_for(memory: Memory) -> MCPServer[Any]:
    """A server that answers from one store; nothing runs yet."""
    try:
        from mcp.server.mcpserver import MCPServer
        from mcp.types import ToolAnnotations
    except ImportError as error:
        raise MissingExtra(
            "serving the memory needs the package mcp", hint="pip install 'backscroll[mcp]'"
        ) from error
    server: MCPServer[Any] = MCPServer(
        "backscroll", title="Backscroll", instructions=_ABOUT, version=__version__, log_level="ERROR"
    )
    looks_only = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
    for name in NAMES:
        work = getattr(memory, name)
        words = (work.__doc__ or "").split("Args:")[0].strip()
        server.add_tool(
            _told(work), name=name, description=words, annotations=looks_only, structured_output=False
        )
    return server


def serve(memory: Memory) -> None:
    """Answer until the other side hangs up."""
    server_for(memory).run("stdio")


def _told(work: Callable[..., str]) -> Callable[..., str]:
    """An error of ours as words with a hint, for the model that asked."""

    @wraps(work)
    def told(*args: Any, **kwargs: Any) -> str:
        from mcp.server.mcpserver.exceptions import ToolError

        try:
            return work(*args, **kwargs)
        except BackscrollError as error:
            raise ToolError(str(error)) from error

    return told
