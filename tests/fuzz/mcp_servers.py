"""MCP servers whose answers are garbled at random: connecting and calling give results or lines about problems, nothing else."""

from __future__ import annotations

import sys
from pathlib import Path

PROGRAM = Path(__file__).parents[1] / "act" / "hostile_server.py"


def fuzz(seed: int, folder: Path) -> None:
    """Connect to one garbled server and call everything it offers."""
    from backscroll.agent.mcp.client import connect
    from backscroll.agent.mcp.servers import McpServer
    from backscroll.agent.toolbox import Toolbox
    from tests.agent.workbench import bench

    garbled = McpServer("odd", sys.executable, (str(PROGRAM), "garbled", str(seed)), seconds=2.0)
    with connect(folder, [garbled], 30) as found, bench(folder) as at:
        assert not found.starting, f"seed {seed}: still starting"
        for problem in found.problems:
            assert "\n" not in problem, f"seed {seed}: {problem!r}"
            assert problem.isprintable(), f"seed {seed}: {problem!r}"
        at.toolbox = Toolbox(found.tools)
        at.toolbox.specs("anthropic")
        for tool in found.tools:
            output = at.call(tool.name)
            assert output.text.encode(), f"seed {seed}: {tool.name} gave nothing"
