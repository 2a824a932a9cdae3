"""Changes, blame and rewinds as text and as JSON: the lines that commands print about files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from backscroll.surfaces.i18n import count, t
from backscroll.surfaces.screen.cells import cut
from backscroll.surfaces.screen.plain import one_line, safe
from backscroll.surfaces.screen.screen import Screen
from backscroll.surfaces.screen.times import format_time
from backscroll.surfaces.words.conversation import excerpt, role_name

if TYPE_CHECKING:
    from backscroll.engine.folder.blame import BlameLine
    from backscroll.engine.folder.rewind import RewindReport
    from backscroll.vocab.change import CodeChange, FileChange
    from backscroll.vocab.message import Message
    from backscroll.vocab.part import Json

_SIGNS = {"added": "+", "changed": "~", "deleted": "-", "renamed": ">"}
_STYLES = {"added": "added", "deleted": "removed", "renamed": "match"}
_BY = {
    "tool": "workroom.by_tool",
    "turn": "workroom.by_turn",
    "person": "workroom.by_person",
    "program": "workroom.by_program",
    "rewind": "workroom.by_rewind",
}
_FILES, _MESSAGES = 30, 20


# -- changes -----------------------------------------------------------------------------------------------------


def change_lines(screen: Screen, change: CodeChange, *, diff: bool) -> Iterator[str]:
    """Yield one change: when, by whom, what; its files; and the diff if requested."""
    turn = t("workroom.no_turn") if change.turn is None else t("workroom.turn", turn=change.turn)
    by = _by(change.cause.by, change.cause.tool)
    words = [screen.style(turn, "strong"), by, format_time(change.at, short=True), change.id.short]
    yield " · ".join(words)
    if change.description:
        yield f"  {one_line(change.description)}"
    yield from file_lines(screen, change.files)
    if diff and change.diff:
        yield from diff_lines(screen, change.diff)


def _by(by: str, tool: str) -> str:
    return one_line(tool) if by == "tool" and tool else t(_BY[by])


def file_lines(screen: Screen, files: Sequence[FileChange]) -> Iterator[str]:
    """Yield what happened to each file, one per line."""
    for file in files[:_FILES]:
        name = f"{file.old_path} → {file.path}" if file.old_path else file.path
        size = "" if file.binary or not (file.added or file.removed) else f"  +{file.added} −{file.removed}"
        more = t("workroom.binary") if file.binary else "" if file.kept else t("workroom.not_kept")
        line = f"  {_SIGNS[file.action]} {one_line(name)}"
        yield f"{screen.style(line, _STYLES.get(file.action, ''))}{size}{'  ' + more if more else ''}"
    if len(files) > _FILES:
        yield f"  {t('importing.and_more', n=len(files) - _FILES)}"


def diff_lines(screen: Screen, diff: str) -> Iterator[str]:
    """Yield a diff in colour; whatever the files contain, nothing of it reaches the terminal as a control sequence."""
    for line in diff.split("\n"):
        style = {"+": "added", "-": "removed", "@": "match"}.get(line[:1], "")
        plain = safe(line)
        yield screen.style(plain, "strong" if line.startswith(("diff ", "+++", "---")) else style)


def change_json(change: CodeChange) -> dict[str, Json]:
    """Return a change for programs."""
    return {
        "id": str(change.id),
        "at": change.at,
        "turn": change.turn,
        "description": change.description,
        "by": change.cause.by,
        "tool": change.cause.tool or None,
        "message": None if change.cause.message is None else str(change.cause.message),
        "call": change.cause.call_id or None,
        "files": [file_json(f) for f in change.files],
        "before": change.before or None,
        "after": change.after or None,
        "diff": change.diff,
        "root": change.root or None,
    }


def file_json(file: FileChange) -> dict[str, Json]:
    """Return what happened to a file, for programs."""
    return {
        "path": file.path,
        "action": file.action,
        "old_path": file.old_path or None,
        "added": file.added,
        "removed": file.removed,
        "binary": file.binary,
        "kept": file.kept,
        "before": file.before or None,
        "after": file.after or None,
    }


# -- blame -------------------------------------------------------------------------------------------------------


def blame_lines(screen: Screen, lines: Sequence[BlameLine]) -> Iterator[str]:
    """Yield line by line: the turn, and the line; where the origin changes, the request and the reason."""
    wide = len(str(lines[-1].line)) if lines else 1
    before: object = object()
    for one in lines:
        origin = (one.by, one.erased, None if one.change is None else one.change.id)
        if origin != before:
            yield from _origin(screen, one)
            before = origin
        yield f"{screen.style(f'{one.line:>{wide}}', 'dim')}  {safe(one.text)}"


def _origin(screen: Screen, one: BlameLine) -> Iterator[str]:
    if one.by is None:
        yield screen.style(t("workroom.before_erased" if one.erased else "workroom.before_all"), "dim")
        return
    if one.change is None:
        yield screen.style(t("workroom.unseen"), "warn")
        return
    turn = t("workroom.no_turn") if one.turn is None else t("workroom.turn", turn=one.turn)
    by = _by(one.by, one.tool)
    words = [
        turn,
        by if one.sure else t("workroom.while_ran", tool=by),
        format_time(one.at, short=True),
        one.thread[:8],
    ]
    yield screen.style(" · ".join(words), "strong")
    if one.asked:
        yield screen.style(f"  {t('workroom.asked', text=_short(screen, one.asked))}", "user")
    if one.why:
        yield screen.style(f"  {t('workroom.why', text=_short(screen, one.why))}", "assistant")


def _short(screen: Screen, text: str) -> str:
    return cut(one_line(text), screen.room(14))


def blame_json(one: BlameLine) -> dict[str, Json]:
    """Return a line and its origin, for programs."""
    return {
        "line": one.line,
        "text": one.text,
        "by": one.by,
        "turn": one.turn,
        "thread": one.thread or None,
        "message": None if one.message is None else str(one.message),
        "tool": one.tool or None,
        "sure": one.sure,
        "asked": one.asked,
        "why": one.why,
        "at": one.at or None,
        "change": None if one.change is None else str(one.change.id),
    }


# -- rewinds -----------------------------------------------------------------------------------------------------


def preview_lines(screen: Screen, plan: RewindReport, *, diff: bool = True) -> Iterator[str]:
    """Yield what a rewind would do: files with their diff, messages that leave or return, what others would lose."""
    if plan.files:
        yield screen.style(count("workroom.files", len(plan.files)), "strong")
        yield from file_lines(screen, plan.files)
        if diff and plan.diff:
            yield from diff_lines(screen, plan.diff)
    if plan.messages:
        key = "workroom.returning" if plan.redone else "workroom.leaving"
        yield screen.style(count(key, len(plan.messages)), "strong")
        yield from _message_lines(screen, plan.messages)
    for path in plan.foreign:
        yield screen.style(t("workroom.foreign", path=one_line(path)), "warn")
    for path in plan.lost:
        yield screen.style(t("workroom.lost", path=one_line(path)), "warn")
    if not plan.files and not plan.messages:
        yield t("workroom.nothing")


def _message_lines(screen: Screen, messages: Sequence[Message]) -> Iterator[str]:
    for message in messages[:_MESSAGES]:
        said = excerpt(message.content, screen.room(30))
        yield f"  {t('words.says', role=role_name(message.role), text=said)}"
    if len(messages) > _MESSAGES:
        yield f"  {t('importing.and_more', n=len(messages) - _MESSAGES)}"


def rewound_json(plan: RewindReport) -> dict[str, Json]:
    """Return a rewind for programs."""
    return {
        "turn": plan.turn,
        "what": plan.what,
        "done": plan.done,
        "redone": plan.redone,
        "files": [file_json(f) for f in plan.files],
        "diff": plan.diff,
        "messages": [str(m.id) for m in plan.messages],
        "foreign": list(plan.foreign),
        "lost": list(plan.lost),
        "before": plan.before or None,
        "after": plan.after or None,
        "event": None if plan.event is None else str(plan.event),
    }
