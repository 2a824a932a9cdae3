"""`operations`: list the tool calls of a thread, one line each or with their full results."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from backscroll.surfaces.cli.command import command, flag, limit_option, option, thread_argument
from backscroll.surfaces.cli.references import thread_named
from backscroll.surfaces.cli.session import CliSession
from backscroll.surfaces.i18n import count, get_language, t
from backscroll.surfaces.screen.plain import one_line, safe
from backscroll.surfaces.screen.table import Column, table
from backscroll.surfaces.screen.times import format_time

if TYPE_CHECKING:
    from backscroll.engine.folder.tool_uses import Digest, ToolUse
    from backscroll.surfaces.screen.screen import Screen
    from backscroll.vocab.part import Json

_ALL = 1_000_000


@command(
    "operations",
    thread_argument(),
    option("--tool", metavar="NAME"),
    option("--target", metavar="WORDS"),
    option("--turn", type=click.IntRange(min=0), metavar="N"),
    option("--text", metavar="WORDS"),
    flag("--full"),
    flag("--recent"),
    limit_option(20),
)
def operations_command(
    session: CliSession,
    thread: str,
    tool: str | None,
    target: str | None,
    turn: int | None,
    text: str | None,
    full: bool,
    recent: bool,
    limit: int,
) -> None:
    """List tool calls."""
    if recent:
        _recent(session, thread)
        return
    with session.engine() as engine:
        found = thread_named(engine, thread)
        uses = found.tool_history(tool=tool, target=target, turn=turn, text=text, limit=limit or _ALL)
        if session.as_json:
            session.screen.json([_shape(use, full=full) for use in uses])
        elif not uses:
            session.screen.line(t("tools.nothing"))
        elif full:
            _print_full(session.screen, uses)
        else:
            _print(session.screen, uses)
    if len(uses) == limit and not session.as_json:
        session.screen.remark(count("tools.newest", len(uses)), "dim")


def _recent(session: CliSession, thread: str) -> None:
    """Print the list of recent operations as it is in prompts."""
    # start-up: loaded when the command runs
    from backscroll.engine.folder.tool_uses import render_operations

    with session.engine() as engine:
        digests = thread_named(engine, thread).operations()
    if session.as_json:
        session.screen.json([_digest(digest) for digest in digests])
    else:
        session.screen.line(safe(render_operations(digests, get_language())) or t("tools.nothing"))


def _digest(digest: Digest) -> dict[str, Json]:
    return {
        "tool": digest.tool_name,
        "kind": digest.kind,
        "target": digest.target,
        "summary": digest.summary,
        "at": digest.timestamp,
        "handle": digest.handle,
        "is_error": digest.is_error,
        "exit_code": digest.exit_code,
        "call": str(digest.call),
        "result_message": None if digest.result is None else str(digest.result),
    }


def _shape(use: ToolUse, *, full: bool) -> dict[str, Json]:
    shape = {**_digest(use.digest), "turn": use.turn, "arguments": use.arguments}
    return {**shape, "result": use.result} if full else shape


def _print(screen: Screen, uses: list[ToolUse]) -> None:
    columns = [
        Column(t("columns.handle"), style="dim"),
        Column(t("columns.turn"), right=True),
        Column(t("columns.when"), style="dim"),
        Column(t("columns.tool"), style="tool"),
        Column(t("columns.target"), shrinks=True),
        Column(t("columns.outcome"), shrinks=True),
    ]
    rows = [
        (
            use.digest.handle,
            str(use.turn),
            format_time(use.digest.timestamp, short=True),
            use.digest.tool_name,
            use.digest.target,
            use.digest.summary,
        )
        for use in uses
    ]
    screen.lines(table(screen, columns, rows))


def _print_full(screen: Screen, uses: list[ToolUse]) -> None:
    for index, use in enumerate(uses):
        if index:
            screen.line()
        digest = use.digest
        head = one_line(f"{digest.handle}  {digest.tool_name} {digest.target}".rstrip())
        screen.line(f"{screen.style(head, 'strong')}  {screen.style(format_time(digest.timestamp), 'dim')}")
        screen.line(safe(use.result) or t("tools.no_words"))
