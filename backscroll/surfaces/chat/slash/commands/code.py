"""`/changes`, `/diff`, `/blame`, `/commit`: file changes, the turns that made them, and committing them to git."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from backscroll.errors import NotFound
from backscroll.surfaces.chat.completion import recent_turn_numbers
from backscroll.surfaces.chat.input.mention import file_names
from backscroll.surfaces.chat.screen.diffs import diff_lines
from backscroll.surfaces.chat.slash.arguments import turn_meant, words, wrong_use
from backscroll.surfaces.chat.slash.cli_bridge import screen_of
from backscroll.surfaces.chat.slash.commands.rewind import file_line
from backscroll.surfaces.chat.slash.replies import line, print_lines, remark, report_done
from backscroll.surfaces.i18n import count, t
from backscroll.surfaces.screen.cells import cut, pad_text, width
from backscroll.surfaces.screen.plain import one_line, safe
from backscroll.surfaces.screen.table import Column, table
from backscroll.surfaces.screen.times import format_time

if TYPE_CHECKING:
    from backscroll.engine.folder.blame import BlameLine
    from backscroll.engine.folder.workroom import Workroom
    from backscroll.surfaces.chat.talk import Talk
    from backscroll.vocab.change import CodeChange

_LISTED = 30  # changes
_DIFF = 400  # lines of a diff
_BLAMED = 200  # lines of a file
_TURN = re.compile(r"#?\d{1,9}|-\d{1,6}|last|最后")


def _room(talk: Talk) -> Workroom:
    room = talk.agent.workroom
    if room is None:
        raise NotFound(t("slash.no_workroom"), hint=t("slash.no_workroom_hint"))
    return room


# -- /changes, /diff ---------------------------------------------------------------------------------------------


def changes_slash(talk: Talk, rest: str) -> None:
    """List changes, newest last: the latest, those of a turn, or those of a file or folder."""
    room = _room(talk)
    name = " ".join(words(rest))
    if not name:
        found = room.changes(limit=_LISTED + 1)
    elif _TURN.fullmatch(name):
        found = room.changes(turn=turn_meant(talk.thread, name, "changes"), limit=_LISTED + 1)
    else:
        found = room.changes(file=name, limit=_LISTED + 1)
    if not found:
        remark(talk, t("slash.no_changes"))
        return
    _table(talk, list(reversed(found[:_LISTED])))
    if len(found) > _LISTED:
        remark(talk, t("slash.changes_more", n=_LISTED))


def _table(talk: Talk, changes: Sequence[CodeChange]) -> None:
    columns = [
        Column(t("columns.turn"), right=True, style="strong"),
        Column(t("columns.when"), style="dim"),
        Column(t("columns.by"), style="dim"),
        Column(t("slash.column_files"), shrinks=True),
        Column(t("columns.what"), shrinks=True),
    ]
    rows = [
        (
            "–" if change.turn is None else str(change.turn),
            format_time(change.at, short=True),
            change.cause.tool or t(f"slash_by.{change.cause.by}"),
            _files(change),
            one_line(change.description),
        )
        for change in changes
    ]
    print_lines(talk, table(screen_of(talk), columns, rows))


def _files(change: CodeChange) -> str:
    first, *more = [file.path for file in change.files] or [""]
    added, removed = sum(f.added for f in change.files), sum(f.removed for f in change.files)
    rest = f" +{len(more)}" if more else ""
    return f"{first}{rest} (+{added} −{removed})"


def changes_offer(talk: Talk, before: list[str], current: str) -> Iterable[tuple[str, str]]:
    """Offer turns and files."""
    if before:
        return []
    if current[:1].isdecimal():
        return recent_turn_numbers(talk)
    return blame_offer(talk, before, current)


def diff_slash(talk: Talk, rest: str) -> None:
    """Show the changes of a turn as a diff; without a number, of the last turn that changed something."""
    room = _room(talk)
    if rest:
        turn = turn_meant(talk.thread, rest, "diff")
    else:
        latest = next((c for c in room.changes(limit=_LISTED) if c.turn is not None), None)
        turn = None if latest is None else latest.turn
    found = list(reversed(room.changes(turn=turn, limit=_LISTED))) if turn is not None else []
    if turn is None or not found:
        remark(talk, t("slash.no_changes"))
        return
    line(talk, t("slash.diff_of", n=turn), "bold")
    left = _DIFF
    for change in found:
        if change.diff and left > 0:
            drawn_lines = diff_lines(change.diff, left)
            left -= len(drawn_lines)
            talk.show(*drawn_lines)
        elif not change.diff:
            for file in change.files:
                line(talk, f"  {file_line(file)}")


def diff_offer(talk: Talk, before: list[str], _current: str) -> Iterable[tuple[str, str]]:
    """Offer the last turns."""
    return [] if before else recent_turn_numbers(talk)


# -- /blame ------------------------------------------------------------------------------------------------------


def blame_slash(talk: Talk, rest: str) -> None:
    """Show which turn wrote a line (with the request and the reason), or every line of a file."""
    name = " ".join(words(rest))
    if not name:
        raise wrong_use("blame")
    path, number = _place(name)
    found = _room(talk).blame(path, number)
    if number is not None and found:
        _one(talk, found[0])
        return
    _lines(talk, found[:_BLAMED])
    if len(found) > _BLAMED:
        remark(talk, t("slash.blame_more", n=_BLAMED, all=len(found)))


def _place(name: str) -> tuple[str, int | None]:
    found = re.fullmatch(r"(.+?)[:：](\d{1,9})", name)
    return (found[1], int(found[2])) if found else (name, None)


def _who(blamed: BlameLine) -> str:
    if blamed.by is None:
        return t("slash.blame_before")
    if blamed.turn is not None:
        return t("slash.blame_turn", n=blamed.turn)
    return t(f"slash_by.{blamed.by}")


def _one(talk: Talk, blamed: BlameLine) -> None:
    line(talk, f"{blamed.line} | {safe(blamed.text)}")
    facts = [_who(blamed), blamed.tool, format_time(blamed.at) if blamed.at else ""]
    line(talk, "  " + " · ".join(fact for fact in facts if fact), "bold")
    if blamed.asked:
        line(talk, "  " + t("slash.blame_asked", text=one_line(blamed.asked)))
    if blamed.why:
        line(talk, "  " + t("slash.blame_why", text=one_line(blamed.why)))


def _lines(talk: Talk, found: Sequence[BlameLine]) -> None:
    """Print a margin with the turn, then the line; a margin that repeats the one above stays empty."""
    margins = [_who(blamed) for blamed in found]
    room = max((width(margin) for margin in margins), default=0)
    digits = len(str(found[-1].line)) if found else 1
    out: list[str] = []
    for n, blamed in enumerate(found):
        margin = margins[n] if n == 0 or margins[n] != margins[n - 1] else ""
        text = f"{pad_text(margin, room)}  {blamed.line:>{digits}} | {safe(blamed.text)}"
        out.append(cut(text, max(40, talk.console.width)))
    print_lines(talk, out)


def blame_offer(talk: Talk, before: list[str], current: str) -> Iterable[tuple[str, str]]:
    """Offer files of the folder."""
    return [] if before else [(name, "") for name in file_names(talk.root, current)]


# -- /commit -----------------------------------------------------------------------------------------------------


def commit_slash(talk: Talk, rest: str) -> None:
    """Preview a commit of the agent's changes, ask, and make it."""
    room = _room(talk)
    plan = room.commit(rest, dry_run=True)
    for path in plan.files:
        line(talk, f"  {one_line(path)}")
    remark(talk, plan.message.split("\n\nBackscroll-", 1)[0])
    if not talk.confirm(count("slash.commit_sure", len(plan.files)), usual=True):
        remark(talk, t("slash.nothing_done"))
        return
    made = room.commit(rest)
    report_done(talk, t("slash.committed", id=made.id[:10], files=count("slash.files", len(made.files))))
