"""Commit the agent's own changes to the user's git repository.

Owns which changes are the agent's and not yet committed (the commits themselves record which they contain), and the message
made from the turns. Building the commit, and separating the agent's lines from other people's, is in
`workspace/git/commits`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from backscroll.engine.core.lineage import View
from backscroll.engine.folder.blame import asked_for
from backscroll.engine.folder.change_log import ChangeRecord, keep_seen_programs, seen_programs
from backscroll.engine.folder.change_query import list_changes, turn_of
from backscroll.errors import NotFound
from backscroll.vocab.change import FileChange
from backscroll.workspace.git import commits
from backscroll.workspace.git.commits import Delta
from backscroll.workspace.git.git import GitFailed, git_found, run_git
from backscroll.workspace.git.trust import programs_of

if TYPE_CHECKING:
    from backscroll.engine.folder.folder_scope import FolderScope
    from backscroll.workspace.snapshots.snapshots import SnapshotFile, Snapshots

THREAD, TURN, CHANGES = "Backscroll-Thread", "Backscroll-Turn", "Backscroll-Changes"
_AGENT = ("tool", "turn", "rewind")
_LINE = 72  # characters of the first line of a message
_LEAST = 20  # … and the minimum when it is shortened at the end of a sentence
_ENDS = (". ", "! ", "? ", "; ", "。", "！", "？", "；")
_TOLD = 8  # descriptions that a message lists
_COMMITS = 5000  # of the user's commits that are searched for changes they already contain
_NAME = re.compile(r"[0-9a-f]{8}\.[1-9][0-9]*")


class NothingToCommit(NotFound):
    """The agent changed nothing, or everything is committed."""


@dataclass(frozen=True, slots=True)
class CommitReport:
    """A commit that was made, or (with an empty `id`) would be."""

    id: str
    message: str
    files: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()  # files that git ignores, or whose content is not stored
    branch: str = ""
    turns: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class _CommitChange:
    """A change that goes into the commit."""

    one: ChangeRecord
    turn: int | None
    asked: str


def commit(
    room: FolderScope,
    message: str,
    *,
    turn: int | None,
    everybody: bool,
    hooks: bool,
    trust: bool,
    dry_run: bool,
) -> CommitReport:
    """Commit what the agent changed; see `Workroom.commit`."""
    if turn is not None:
        room.thread.turn(turn)  # raises if there is no such turn
    with room.alone():
        if not dry_run:
            room.look()
        held = _find_committed(room)
        chosen = room.thread.reading(
            lambda view: _select_changes(room, view, held, turn, everybody=everybody)
        )
        if not chosen:
            raise NothingToCommit(
                "nothing to commit: the agent changed no files, or its changes are committed already",
                hint="`backscroll changes` lists what was changed",
            )
        skipped: list[str] = []
        _still_kept(room.keeper.has(chosen[-1].one.change.after))
        kinds = room.keeper.entries(chosen[-1].one.change.after)
        deltas = [d for c in chosen for d in _deltas(room.keeper, c.one, kinds, skipped)]
        turns = tuple(sorted({c.turn for c in chosen if c.turn}))
        done = commits.commit(
            room.root,
            deltas,
            message.strip() or made_message(chosen),
            trailers={
                THREAD: room.thread.id,
                TURN: ", ".join(map(str, turns)),
                CHANGES: " ".join(c.one.change.id.short for c in chosen),
            },
            hooks=hooks,
            dry_run=dry_run,
            trusted=_find_trusted(room, trust=trust and not dry_run),
        )
    left = tuple(dict.fromkeys((*done.skipped, *skipped)))
    return CommitReport(done.id, done.message, done.files, left, done.branch, turns)


def _find_trusted(room: FolderScope, *, trust: bool) -> frozenset[str]:
    """Return the keys of the programs that a commit may run; `trust` adds those that are there now, permanently."""
    room.note_programs()
    if trust:
        keys = [program.key for program in programs_of(room.root)]
        room.thread.store.write(lambda tx: keep_seen_programs(tx, room.place, keys))
    return room.thread.store.read(lambda reader: seen_programs(reader, room.place)) or frozenset()


def _select_changes(
    room: FolderScope, view: View, held: set[str], turn: int | None, *, everybody: bool
) -> list[_CommitChange]:
    out: list[_CommitChange] = []
    for one in list_changes(view, room.place):
        if (one.by not in _AGENT and not everybody) or one.change.id.short in held:
            continue
        event = view.event(one.change.id.seq)
        number = None if event is None else turn_of(view, event)
        if turn is None or (turn == number and one.by != "rewind"):
            out.append(_CommitChange(one, number, asked_for(view, one.change.cause.message)))
    return out


def _find_committed(room: FolderScope) -> set[str]:
    """Return the changes that commits of the user's branch already contain, by the names in their trailers."""
    if not git_found():
        return set()
    wanted = [f"--grep=^{CHANGES}:", f"-n{_COMMITS}", f"--format=%(trailers:key={CHANGES},valueonly,unfold)"]
    try:
        ran = run_git(["log", *wanted], cwd=room.root, sealed=False, check=False)
    except GitFailed:
        return set()
    return set(_NAME.findall(ran.text)) if ran.code == 0 else set()


def _deltas(
    keeper: Snapshots, one: ChangeRecord, kinds: Mapping[str, SnapshotFile], skipped: list[str]
) -> Iterator[Delta]:
    """Yield a change file by file, with the contents on both sides; a rename is one deleted and one added file."""
    change = one.change
    files: Sequence[FileChange] = change.files
    if not one.whole:
        _still_kept(keeper.has(change.before) and keeper.has(change.after))
        files = keeper.compare(change.before, change.after)
    for file in files:
        if not file.kept:
            skipped.append(file.path)
            continue
        was, now = (keeper.content(name) if name else None for name in (file.before, file.after))
        _still_kept((was is not None or not file.before) and (now is not None or not file.after))
        if file.old_path and file.old_path != file.path:
            yield Delta(file.old_path, was, None)
            was = None
        # The final mode of a file (a link, an executable) is what counts, not intermediate ones.
        last = kinds.get(file.path)
        yield Delta(file.path, was, now, None if now is None or last is None else last.kind)


def _still_kept(kept: bool) -> None:
    if not kept:
        raise NotFound(
            "the contents of an earlier change are not kept any more",
            hint="commit by hand with git; later changes can be committed again",
        )


# -- the message -------------------------------------------------------------------------------------------------


def made_message(chosen: Sequence[_CommitChange]) -> str:
    """Return a commit message from the turns: the latest request as the first line, then what was done, turn by turn."""
    asked = [_first_line(c.asked) for c in chosen if c.asked]
    told = [_first_line(c.one.change.description) for c in chosen if c.one.change.description]
    first = _cut(asked[-1] if asked else told[-1] if told else "Changes by the agent")
    several = len({c.turn for c in chosen}) > 1
    lines: list[str] = []
    for _, group in groupby(chosen, key=lambda c: c.turn):
        same = list(group)
        if several and (words := next((_first_line(c.asked) for c in same if c.asked), "")):
            lines += ["", f"{_cut(words)}:"] if lines else [f"{_cut(words)}:"]
        # A rewind and its redo are not work: it would be listed twice.
        work = [c for c in same if c.one.change.cause.by != "rewind"] or same
        done = dict.fromkeys(_first_line(c.one.change.description) for c in work)
        lines += [f"- {words}" for words in done if words][:_TOLD]
    body = "\n".join(lines).strip()
    return f"{first}\n\n{body}" if body and body != f"- {first}" else first


def _first_line(text: str) -> str:
    return next((" ".join(line.split()) for line in text.splitlines() if line.strip()), "")


def _cut(text: str) -> str:
    """Return a line of bounded length: the sentences that fit whole, else as many words as fit."""
    if len(text) <= _LINE:
        return text
    head = text[: _LINE - 1]
    end = max(head.rfind(mark) for mark in _ENDS)
    if end >= _LEAST:
        return head[: end + 1].rstrip(".。;； ")
    space = head.rfind(" ")
    return head[: space if space >= _LINE // 2 else None].rstrip() + "…"
