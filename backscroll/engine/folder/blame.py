"""Blame: which turn wrote a line, which request it answers, and why.

Owns the versions of one file through all changes of its folder, in any thread: renames are followed, and what a rewind
restored belongs to its first author. Matching lines is in `workspace/git/blame`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from backscroll.engine.core.history import message_of
from backscroll.engine.core.lineage import View
from backscroll.engine.folder.attribution import surely
from backscroll.engine.folder.change_log import ChangeRecord
from backscroll.engine.folder.change_query import turn_of
from backscroll.errors import BackscrollError, InvalidInput, NotFound
from backscroll.record.history import FORGOTTEN, Entry
from backscroll.vocab.change import By, CodeChange, FileChange
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message
from backscroll.vocab.part import Reasoning
from backscroll.workspace.git.blame import FileVersion, blame_lines
from backscroll.workspace.snapshots.snapshots import ERASED

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import EngineScope
    from backscroll.engine.folder.folder_scope import FolderScope
    from backscroll.workspace.snapshots.snapshots import Snapshots

#: Keys of versions that no change in the log made.
OLDEST, UNSEEN, BEFORE_ERASED = -1, -2, -3
_WORDS = 600  # characters of the request, and of the reason
_LOOKED = 40  # messages before a call that are searched for a reason


@dataclass(frozen=True, slots=True)
class BlameLine:
    """One line of a file and its origin."""

    line: int
    text: str
    by: By | None  # None: it existed before the first snapshot
    change: CodeChange | None = None  # also None for manual edits that were not scanned yet
    turn: int | None = None
    message: Ref | None = None
    tool: str = ""
    asked: str = ""  # the user message that opened the turn
    why: str = ""  # what the assistant wrote before the call
    at: str = ""
    thread: str = ""
    sure: bool = True  # False: it was written while the tool ran, by it or by another process
    erased: bool = False  # the author is unknown: an earlier version of the file was erased


@dataclass(frozen=True, slots=True)
class _ChangeVersion:
    """The file after one change."""

    key: int  # which change; OLDEST, UNSEEN
    hash: str
    path: str


def blame(room: FolderScope, path: str, line: int | None = None) -> list[BlameLine]:
    """Return every line of a file, or one of them; see `Workroom.blame`."""
    keeper = room.keeper
    with room.alone():
        now = keeper.take()
        everything = room.everywhere()
    content = keeper.read(now, path)
    if content is None:
        raise _nothing(room, path, now)
    versions = _versions(keeper, everything, path, now)
    told: list[FileVersion] = []
    gone = 0  # what came before is unknown, so it is older than everything known
    for version in versions:
        text = content if version is versions[-1] else keeper.content(version.hash)
        if text is None:
            told, gone = [], BEFORE_ERASED if version.hash.startswith(ERASED) else OLDEST
        else:
            told.append(FileVersion(str(gone if gone and not told else version.key), text))
    origins = blame_lines(told)
    if line is not None and not 1 <= line <= len(origins):
        raise InvalidInput(f"{path} has no line {line}", hint=f"it has {len(origins)}")
    teller = _BlameReader(room.thread.engine, everything)
    wanted = origins if line is None else origins[line - 1 : line]
    first = 1 if line is None else line
    return [teller.blame_line(first + n, origin.text, int(origin.key)) for n, origin in enumerate(wanted)]


def _nothing(room: FolderScope, path: str, now: str) -> BackscrollError:
    if path in room.keeper.files(now):
        return InvalidInput(
            f"the content of {path} is not kept", hint="it is too large for snapshots, or holds secrets"
        )
    if (room.root / path).exists():
        return InvalidInput(f"{path} is left out of snapshots", hint="it is ignored, or no file")
    return NotFound(f"no file {path} in {room.root}", hint="check the path")


# -- versions ----------------------------------------------------------------------------------------------------


def _versions(
    keeper: Snapshots, everything: Sequence[ChangeRecord], path: str, now: str
) -> list[_ChangeVersion]:
    """Return the contents that the file had over time, oldest first; the last is the current one."""
    steps = list(steps_of(keeper, everything, path))[::-1]
    stack: list[_ChangeVersion] = []
    tops: dict[str, tuple[_ChangeVersion, ...]] = {}  # the versions below a content when it was current

    def push(version: _ChangeVersion, *, returns: bool = False) -> None:
        nonlocal stack
        if returns and version.hash in tops:
            stack = list(tops[version.hash])
        elif not stack or stack[-1].hash != version.hash or stack[-1].path != version.path:
            if not version.hash:
                stack = []  # deleted: a later file under this name is another one
            stack.append(version)
        tops[version.hash] = tuple(stack)

    for number, one, file in steps:
        if file.before and (not stack or stack[-1].hash != file.before):
            # How this came about was not recorded; if nothing is known yet, it has always been so.
            old = file.old_path or file.path
            push(_ChangeVersion(UNSEEN if stack else OLDEST, file.before, old))
        after = "" if file.action == "deleted" else file.after
        push(_ChangeVersion(number, after, file.path), returns=one.by == "rewind")
    here = keeper.files(now).get(path, "")
    if not stack or stack[-1].hash != here:
        push(_ChangeVersion(UNSEEN if stack else OLDEST, here, path))
    return [v for v in stack if v.hash] or [_ChangeVersion(OLDEST, here, path)]


def steps_of(
    keeper: Snapshots, everything: Sequence[ChangeRecord], path: str
) -> Iterator[tuple[int, ChangeRecord, FileChange]]:
    """Yield the changes that touched the file, newest first, under the names it had."""
    for number in range(len(everything) - 1, -1, -1):
        one = everything[number]
        for file in files_of(keeper, one):
            if file.path == path:
                yield number, one, file
                if file.action == "renamed" and file.old_path:
                    path = file.old_path
                break
            if file.old_path == path and file.action == "renamed":  # it left this name
                yield number, one, replace(file, path=path, old_path="", action="deleted", after="")
                break


def files_of(keeper: Snapshots, one: ChangeRecord) -> Sequence[FileChange]:
    """Return the files of a change; from the snapshots if the log does not name them all."""
    if one.whole or not (keeper.has(one.change.before) and keeper.has(one.change.after)):
        return one.change.files
    return keeper.compare(one.change.before, one.change.after)


# -- requests and reasons ----------------------------------------------------------------------------------------


class _BlameReader:
    """Looks up the request and the reason, once per change."""

    def __init__(self, engine: EngineScope, everything: Sequence[ChangeRecord]) -> None:
        self._engine = engine
        self._everything = everything
        self._known: dict[int, BlameLine] = {}

    def blame_line(self, line: int, text: str, key: int) -> BlameLine:
        """Return a line with its origin."""
        if key == OLDEST:
            return BlameLine(line, text, None)
        if key == BEFORE_ERASED:
            return BlameLine(line, text, None, erased=True)
        if key == UNSEEN:
            return BlameLine(line, text, "person")
        if key not in self._known:
            self._known[key] = self._about(self._everything[key])
        return replace(self._known[key], line=line, text=text)

    def _about(self, one: ChangeRecord) -> BlameLine:
        change, cause = one.change, one.change.cause
        thread = self._engine.thread(change.id.thread)

        def look(view: View) -> BlameLine:
            event = view.event(change.id.seq)
            turn = None if event is None else turn_of(view, event)
            numbered = replace(change, turn=turn)
            blamed = BlameLine(
                0,
                "",
                one.by,
                numbered,
                turn,
                cause.message,
                cause.tool,
                at=change.at,
                thread=thread.id,
                sure=surely(cause, change.own),
            )
            if cause.message is None or (entry := view.entry(cause.message)) is None:
                return blamed
            asked, why = _reasons(view, entry)
            return replace(blamed, asked=asked, why=why)

        return thread.reading(look)


def asked_for(view: View, message: Ref | None) -> str:
    """Return the user message that opened the turn of a message; empty if that cannot be determined any more."""
    entry = None if message is None else view.entry(message)
    return "" if entry is None else _reasons(view, entry)[0]


def _reasons(view: View, entry: Entry) -> tuple[str, str]:
    """Return the user message that opened the turn of a message, and what the assistant wrote up to it."""
    why = ""
    edge = entry.position + b"\0"  # right behind it
    for number, (one, spoken) in enumerate(view.page(_LOOKED, before=edge, newest_first=True, gone=True)):
        if spoken.body is None or one.flags & FORGOTTEN:
            continue
        message = message_of(one, spoken)
        if message.role == "user":
            return _short(message.text), why
        if message.role == "assistant" and not why:
            why = _short(message.text or (_first_reasoning(message) if number == 0 else ""))
    return _opening(view, entry), why


def _opening(view: View, entry: Entry) -> str:
    """Return the text of the message that opened a long turn."""
    edge = entry.position
    while rows := view.page(256, before=edge, newest_first=True, gone=True):
        for one, spoken in rows:
            if one.role == "user" and spoken.body is not None and not one.flags & FORGOTTEN:
                return _short(message_of(one, spoken).text)
        edge = rows[-1][0].position
    return ""


def _first_reasoning(message: Message) -> str:
    return next((p.text for p in message.parts if isinstance(p, Reasoning) and p.text), "")


def _short(text: str) -> str:
    text = text.strip()
    return text if len(text) <= _WORDS else text[: _WORDS - 1] + "…"
