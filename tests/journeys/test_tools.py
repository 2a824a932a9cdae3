"""Journeys of a user who looks at tool calls."""

from __future__ import annotations

import backscroll
from tests.journeys.conftest import Cli


def agent(cli: Cli) -> str:
    return cli.ok("threads", "--kind", "agent", "--json").json[0]["id"]


def test_operations_are_listed_one_per_line(stocked: Cli) -> None:
    """Handle, turn, tool, target and outcome of each call, the newest first; as a table, as JSON, in Chinese."""
    thread = agent(stocked)
    shown = stocked.ok("operations", thread).out
    assert shown.splitlines()[0].split() == ["handle", "turn", "when", "tool", "target", "outcome"]
    assert "Bash" in shown
    uses = stocked.ok("operations", thread, "--json").json
    assert [use["handle"] for use in uses] == sorted((u["handle"] for u in uses), key=lambda h: -int(h[4:-1]))
    assert "result" not in uses[0]
    assert "句柄" in stocked.ok("operations", thread, "--lang", "zh").out


def test_operations_can_be_filtered(stocked: Cli) -> None:
    """By tool, target, turn and text; the full result on request."""
    thread = agent(stocked)
    uses = stocked.ok("operations", thread, "--tool", "bash", "--json", "--full").json
    assert {use["tool"] for use in uses} == {"Bash"}
    assert all(use["result"] for use in uses)
    assert "AssertionError" in stocked.ok("operations", thread, "--text", "AssertionError", "--full").out
    assert stocked.ok("operations", thread, "--tool", "nobody").out.strip() == "No matching tool calls."
    assert stocked("operations", thread, "--turn", "999").code == 4
    one = stocked.ok("operations", thread, "-n", "1")
    assert len(one.out.splitlines()) == 2
    assert "-n 0" in one.err


def test_operations_recent_prints_the_list_of_prompts(stocked: Cli) -> None:
    """Oldest first, with a header."""
    shown = stocked.ok("operations", agent(stocked), "--recent").out
    assert shown.startswith("Recent operations")
    assert "[bs:" in shown
    assert stocked.ok("operations", agent(stocked), "--recent", "--json").json[0]["kind"]


def test_thread_without_tools_has_no_operations(cli: Cli) -> None:
    thread = cli.conversation("hello", "hi")
    assert cli.ok("operations", thread).out.strip() == "No matching tool calls."
    assert cli.ok("operations", thread, "--recent").out.strip() == "No matching tool calls."


def test_escape_codes_in_results_are_not_executed(cli: Cli) -> None:
    with backscroll.open(cli.store) as store:
        thread = store.create()
        thread.append("assistant", [backscroll.ToolCall("1", "Bash\x1b[2J", {"command": "x"})])
        thread.append("tool", [backscroll.ToolResult("1", (backscroll.Text("red \x1b[31mwords"),))])
    for arguments in ((), ("--full",), ("--recent",), ("--json", "--full")):
        assert "\x1b" not in cli.ok("operations", thread.id, *arguments).out
