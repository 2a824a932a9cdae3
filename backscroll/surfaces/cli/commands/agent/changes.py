"""`changes`, `blame`, `commit`: file changes, who wrote a line, and committing the agent's work to git."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from backscroll.errors import InvalidInput
from backscroll.surfaces.cli.command import command, flag, limit_option, option, thread_argument
from backscroll.surfaces.cli.commands.agent.folder_threads import named_inside, room_of, thread_here
from backscroll.surfaces.cli.session import CliSession
from backscroll.surfaces.i18n import count, t
from backscroll.surfaces.i18n.translation import say
from backscroll.surfaces.screen.plain import one_line, safe
from backscroll.surfaces.screen.times import parse_time
from backscroll.surfaces.words import workroom as words

if TYPE_CHECKING:
    from backscroll.engine.folder.commits import CommitReport
    from backscroll.engine.folder.erasure import FileForgetReport
    from backscroll.engine.folder.workroom import Workroom

_LINE = re.compile(r"(.+):(\d{1,9})")


@command(
    "changes",
    thread_argument(required=False),
    option("--turn", type=click.IntRange(min=0), metavar="N"),
    option("--file", metavar="PATH"),
    option("--since", metavar="TIME"),
    option("--until", metavar="TIME"),
    flag("--diff"),
    option("--forget-file", metavar="PATH"),
    flag("--forget-snapshots"),
    flag("--yes", "-y"),
    limit_option(30),
)
def changes_command(
    session: CliSession,
    thread: str | None,
    turn: int | None,
    file: str | None,
    since: str | None,
    until: str | None,
    diff: bool,
    forget_file: str | None,
    forget_snapshots: bool,
    yes: bool,
    limit: int,
) -> None:
    """List the file changes of a thread, newest first."""
    # start-up: loaded when the command runs
    from backscroll.engine.folder.change_query import changes, wish

    screen = session.screen
    with session.engine() as engine:
        found = thread_here(engine, thread)
        if forget_snapshots:
            room_of(screen, found).forget_snapshots()
            if session.as_json:
                screen.json({"forgotten": "snapshots"})
            else:
                screen.remark(t("workroom.snapshots_forgotten"))
            return
        if forget_file is not None:
            _forget_file(session, room_of(screen, found), named_inside(found, forget_file), yes=yes)
            return
        path = None if file is None else named_inside(found, file)
        asked = wish(turn, path, parse_time(since), parse_time(until, end=True), limit or None)
        listed = changes(found, asked)
    if session.as_json:
        screen.json_list(words.change_json(change) for change in listed)
        return
    if not listed:
        screen.remark(t("workroom.no_changes"), "dim")
    for number, change in enumerate(listed):
        if number:
            screen.line()
        screen.lines(words.change_lines(screen, change, diff=diff))


def _forget_file(session: CliSession, room: Workroom, path: str, *, yes: bool) -> None:
    """Erase a file permanently, after showing what goes."""
    screen = session.screen
    if not yes:
        if not screen.can_ask:
            raise InvalidInput(t("forgetting.not_asked"), hint=t("forgetting.not_asked_hint"))
        screen.lines(_forgotten_lines(room.forget_file(path, dry_run=True)))
        if not screen.asks(t("forgetting.sure")):
            screen.line(t("forgetting.kept"))
            return
    done = room.forget_file(path)
    if session.as_json:
        facts = {name: list(getattr(done, name)) for name in ("names", "shared", "present", "unreachable")}
        numbers = {name: getattr(done, name) for name in ("versions", "snapshots", "changes")}
        messages = [str(ref) for ref in done.messages]
        screen.json({"path": done.path, **numbers, **facts, "messages": messages})
    else:
        screen.lines(_forgotten_lines(done))


def _forgotten_lines(done: FileForgetReport) -> Iterator[str]:
    key = "workroom.file_forgotten" if done.done else "workroom.file_would"
    path = one_line(done.path)
    yield t(key, path=path, versions=done.versions, snapshots=done.snapshots, changes=done.changes)
    for key, names in (
        ("workroom.file_names", [name for name in done.names if name != done.path]),
        ("workroom.file_shared", done.shared),
        ("workroom.file_present", done.present),
        ("workroom.file_messages", [ref.short for ref in done.messages]),
    ):
        if names:
            yield t(key, names=", ".join(one_line(name) for name in names))
    if done.unreachable:
        yield t("forgetting.unreachable")
        yield from (f"  {one_line(say(what))}" for what in done.unreachable)


@command("blame", click.Argument(["place"], metavar="FILE[:LINE]"), option("--thread", metavar="THREAD"))
def blame_command(session: CliSession, place: str, thread: str | None) -> None:
    """Show which turn wrote each line of a file."""
    screen = session.screen
    split = None if Path(place).exists() else _LINE.fullmatch(place)
    path, line = (split[1], int(split[2])) if split else (place, None)
    with session.engine() as engine:
        found = thread_here(engine, thread)
        room = room_of(screen, found)
        lines = room.blame(named_inside(found, path), line)
    if session.as_json:
        screen.json_list(words.blame_json(one) for one in lines)
    else:
        screen.lines(words.blame_lines(screen, lines))


@command(
    "commit",
    thread_argument(required=False),
    option("-m", "--message", metavar="TEXT", default=""),
    option("--turn", type=click.IntRange(min=0), metavar="N"),
    flag("--all", "everybody"),
    flag("--hooks"),
    flag("--trust"),
    flag("--dry-run"),
)
def commit_command(
    session: CliSession,
    thread: str | None,
    message: str,
    turn: int | None,
    everybody: bool,
    hooks: bool,
    trust: bool,
    dry_run: bool,
) -> None:
    """Commit the agent's changes to your git repository."""
    with session.engine() as engine:
        found = thread_here(engine, thread)
        room = room_of(session.screen, found)
        done = room.commit(message, turn=turn, all=everybody, hooks=hooks, trust=trust, dry_run=dry_run)
    _report_commit(session, done)


def _report_commit(session: CliSession, done: CommitReport) -> None:
    screen = session.screen
    if session.as_json:
        screen.json({"commit": done.id or None, "message": done.message, "files": list(done.files)})
        return
    if done.id:
        screen.line(count("workroom.committed", len(done.files), commit=done.id[:10]))
    else:
        screen.line(count("workroom.would_commit", len(done.files)))
    for path in done.files:
        screen.line(f"  {one_line(path)}")
    screen.lines(screen.style(f"  | {safe(line)}", "dim") for line in done.message.strip().split("\n"))
