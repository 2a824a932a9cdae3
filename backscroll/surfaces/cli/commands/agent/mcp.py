"""`mcp`: serve the memory to other agents, over stdio."""

from __future__ import annotations

from backscroll.surfaces.cli.command import command, option
from backscroll.surfaces.cli.references import thread_named
from backscroll.surfaces.cli.session import CliSession


@command(
    "mcp",
    option("--thread", metavar="THREAD"),
    option("--project", metavar="NAME"),
    option("--user", metavar="NAME"),
)
def mcp_command(session: CliSession, thread: str | None, project: str | None, user: str | None) -> None:
    """Serve the memory to another agent."""
    # start-up: loaded when the command runs
    from backscroll.surfaces.mcp.memory_tools import MemoryTools
    from backscroll.surfaces.mcp.server import serve

    with session.engine(make=True) as engine:
        only = thread_named(engine, thread, user).id if thread else ""
        serve(MemoryTools(engine, only, project or "", user))
