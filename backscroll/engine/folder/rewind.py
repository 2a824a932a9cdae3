"""Rewind: restore files, conversation or both to before a turn; and redo, which reverts that.

Owns what a rewind would do (which files, which messages, what others changed since and would lose) and when it refuses.
Messages are deleted in one stroke, so that plain `undo` restores them, and the tasks with them; log and snapshots lose
nothing. Crash recovery is in `engine/folder/rewind_journal`, writing files in `workspace/snapshots/restore`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, get_args

from backscroll.engine.core.history import message_of
from backscroll.engine.core.lineage import View
from backscroll.engine.core.run_lock import RunLock
from backscroll.engine.folder import rewind_journal as journals
from backscroll.engine.folder.change_log import LONGEST, ChangeRecord
from backscroll.engine.folder.change_query import leaving, list_changes, since_turn
from backscroll.engine.folder.folder_scope import PERSON, FolderScope, What
from backscroll.engine.folder.rewind_journal import RewindJournal
from backscroll.errors import Conflict, InvalidInput, NotFound
from backscroll.record.acts import acts_in_force
from backscroll.record.history import FORGOTTEN, Entry
from backscroll.vocab.change import FileChange
from backscroll.vocab.event import Event, Kind
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message
from backscroll.workspace.snapshots.restore import plan_restore

if TYPE_CHECKING:
    from backscroll.engine.core.pen import Pen
    from backscroll.engine.core.thread_scope import ThreadScope
    from backscroll.workspace.snapshots.snapshots import Snapshots

_NAMED = 5  # files that an error names


@dataclass(frozen=True, slots=True)
class RewindReport:
    """What a rewind did, or (with `done` False) would do."""

    turn: int
    what: What
    files: tuple[FileChange, ...] = ()  # the changes to the files
    diff: str = ""
    messages: tuple[Message, ...] = ()  # messages deleted, or (redo) restored
    foreign: tuple[str, ...] = ()  # files in which others would lose their changes
    lost: tuple[str, ...] = ()  # files left as they are: no snapshot has their content (too large, secret)
    paths: tuple[str, ...] = ()  # every path that is changed
    before: str = ""  # ids of the snapshots
    after: str = ""
    done: bool = False
    redone: bool = False  # a rewind was reverted
    event: Ref | None = None


# -- rewind ------------------------------------------------------------------------------------------------------


def rewind(room: FolderScope, turn: int, what: What, *, force: bool, dry_run: bool) -> RewindReport:
    """Rewind to before a turn; see `Workroom.rewind`."""
    if what not in get_args(What):
        raise InvalidInput(f"cannot rewind {what!r}", hint=f"use one of {', '.join(get_args(What))}")
    with _nobody_else(room.thread, dry_run=dry_run), room.alone():
        opening = _opening(room.thread, turn)
        now = ""
        if what != "conversation":
            now = room.keeper.take() if dry_run else room.note(PERSON)[0]
        plan = room.thread.reading(
            lambda view: _plan(room, view, opening, RewindReport(turn, what, before=now))
        )
        if dry_run:
            return plan
        _refuse(plan, force=force)
        return _apply_plan(
            room, plan, RewindJournal(_name(room), room.thread.id, room.thread.actor, turn, what)
        )


def rewind_words(thread: ThreadScope, turn: int) -> int:
    """Rewind the conversation alone, for a thread without a folder. Return how many messages were deleted.

    Tasks are rewound with it; `undo` restores everything.
    """
    opening = _opening(thread, turn)
    name = thread.engine.means.random(8).hex()

    def work(pen: Pen) -> int:
        entry = pen.entry(opening)
        assert entry is not None
        going = tuple(str(e.message) for e in leaving(pen.view, entry))
        journal = RewindJournal(name, thread.id, thread.actor, turn, "conversation", messages=going)
        return int(journals.write_words(pen, journal).head["count"])

    with _nobody_else(thread, dry_run=False):
        return thread.stroke(work)


def _nobody_else(thread: ThreadScope, *, dry_run: bool) -> AbstractContextManager[object]:
    """Hold the run lock: no agent may work in the thread during a rewind; a dry run needs no lock."""
    return nullcontext() if dry_run else RunLock(thread.id)


def _opening(thread: ThreadScope, turn: int) -> Ref:
    if turn < 1:
        raise InvalidInput(f"cannot rewind to before turn {turn}", hint="turns count from 1")
    return thread.turn(turn).messages[0].id


def _name(room: FolderScope) -> str:
    return room.thread.engine.means.random(8).hex()


def _plan(room: FolderScope, view: View, opening: Ref, plan: RewindReport) -> RewindReport:
    entry = view.entry(opening)
    assert entry is not None
    if plan.what != "files":
        plan = replace(plan, messages=tuple(_messages(view, leaving(view, entry))))
    if plan.what == "conversation":
        return plan
    since = since_turn(view, room.place, entry)
    if not since:
        return replace(plan, after=plan.before)
    return _files(room, plan, since, since[0].change.before)


def _messages(view: View, entries: Sequence[Entry]) -> Iterator[Message]:
    spoken = view.reader.read_spoken([entry.revision for entry in entries])
    for entry in entries:
        words = spoken[entry.revision]
        if words.body is not None and not entry.flags & FORGOTTEN:
            yield message_of(entry, words)


def _files(room: FolderScope, plan: RewindReport, since: Sequence[ChangeRecord], target: str) -> RewindReport:
    keeper = room.keeper
    if not keeper.has(target):
        raise NotFound(
            "the files of that turn are no longer available",
            hint="rewind only the conversation, or choose a later turn",
        )
    paths = sorted({path for one in since for path, _, _ in _touches(keeper, one)})
    plan = _plan_file_restore(keeper, plan, target, paths)
    foreign = tuple(_foreign(keeper, since, plan))
    return replace(plan, foreign=foreign)


def _plan_file_restore(
    keeper: Snapshots, plan: RewindReport, target: str, paths: Sequence[str]
) -> RewindReport:
    """Return what restoring some files to a snapshot would do. Files that no snapshot holds are never touched, even with force."""
    steps = plan_restore(keeper, target, paths=tuple(paths))
    lost = {*steps.unsaved, *(left.path for left in steps.impossible)}
    going = {step.path for step in steps.steps} - lost
    files = tuple(
        f
        for f in keeper.compare(plan.before, target)
        if f.path in going or (f.old_path and f.old_path in going)
    )
    diff = keeper.diff(plan.before, target, sorted(going), longest=LONGEST) if going else ""
    return replace(
        plan, files=files, diff=diff, lost=tuple(sorted(lost)), after=target, paths=tuple(sorted(going))
    )


def _foreign(keeper: Snapshots, since: Sequence[ChangeRecord], plan: RewindReport) -> Iterator[str]:
    """Yield files with content that this thread's own work does not explain.

    Walks through the changes since the target, file by file: a manual edit, or a content that none of our changes left,
    marks the file, until a rewind restores a content that was not marked.
    """
    state, present = keeper.files(plan.after), keeper.files(plan.before)
    marked: dict[str, bool] = {}
    seen: dict[tuple[str, str], bool] = {}
    for one in since:
        for path, before, after in _touches(keeper, one):
            was = marked.get(path, False)
            seen.setdefault((path, state.get(path, "")), was)
            strange = before != state.get(path, "") or one.by in ("person", "program")
            marked[path] = seen.get((path, after), False) if one.by == "rewind" else was or strange
            seen[path, after] = marked[path]
            state[path] = after
    for path in plan.paths:
        if marked.get(path, False) or state.get(path, "") != present.get(path, ""):
            yield path


def _touches(keeper: Snapshots, one: ChangeRecord) -> Iterator[tuple[str, str, str]]:
    """Yield what a change did, path by path: the hash before and the hash after, empty if there is none."""
    change = one.change
    files: Sequence[FileChange] = change.files
    if not one.whole and keeper.has(change.before) and keeper.has(change.after):
        files = keeper.compare(change.before, change.after)
    for file in files:
        if file.old_path and file.old_path != file.path:
            yield file.old_path, file.before, ""
            yield file.path, "", file.after
        else:
            yield file.path, file.before, file.after


def _refuse(plan: RewindReport, *, force: bool) -> None:
    if plan.foreign and not force:
        names = ", ".join(plan.foreign[:_NAMED]) + (", …" if len(plan.foreign) > _NAMED else "")
        raise Conflict(
            f"changes made outside this conversation would be lost: {names}",
            hint="save them first, or use --force; a snapshot keeps them",
            files=list(plan.foreign),
        )


def _apply_plan(room: FolderScope, plan: RewindReport, journal: RewindJournal) -> RewindReport:
    if not plan.paths and not plan.messages:
        return replace(plan, done=True)
    if plan.paths:
        journal = replace(journal, before=plan.before, after=plan.after, paths=plan.paths)
    journal = replace(journal, messages=tuple(str(m.id) for m in plan.messages))
    event = journals.carry_out(room, journal)
    return replace(plan, done=True, event=None if event is None else event.id)


# -- redo --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _LastRewind:
    """The last rewind still in force, for the messages, the files, or both."""

    id: str
    words: Event | None
    files: ChangeRecord | None

    @property
    def turn(self) -> int:
        """The turn before which it rewound to."""
        return int(self.words.head.get("turn", 0)) if self.words else self.files.turn if self.files else 0

    @property
    def seq(self) -> int:
        """Its event number."""
        ends = [self.words.seq if self.words else 0, self.files.change.id.seq if self.files else 0]
        return max(ends)


def redo(room: FolderScope, *, force: bool, dry_run: bool) -> RewindReport:
    """Revert the last rewind; see `Workroom.redo`."""
    with _nobody_else(room.thread, dry_run=dry_run), room.alone():
        last = room.thread.reading(lambda view: _last(view, room.place))
        if last is None:
            raise NotFound("no rewind to revert", hint="run `backscroll log` to list events")
        what: What = "both" if last.words and last.files else "files" if last.files else "conversation"
        now = ""
        if last.files is not None:
            now = room.keeper.take() if dry_run else room.note(PERSON)[0]
        plan = RewindReport(last.turn, what, before=now, redone=True)
        plan = room.thread.reading(lambda view: _back(room, view, last, plan, force=force))
        if dry_run:
            return plan
        _refuse(plan, force=force)
        journal = RewindJournal(
            _name(room), room.thread.id, room.thread.actor, last.turn, plan.what, redo=last.id
        )
        return _apply_plan(room, plan, journal)


def _last(view: View, place: str) -> _LastRewind | None:
    held = acts_in_force(view.others(), {Kind.REWOUND})
    redone = {str(e.head["redo"]) for e in held if e.head.get("redo")}
    words = {str(e.head["rewind"]): e for e in held if not e.head.get("redo")}
    changes = [one for one in list_changes(view, place) if one.rewind]
    returned = {one.redo for one in changes if one.redo}
    files = {one.rewind: one for one in changes if not one.redo and one.rewind not in returned}
    found = [
        _LastRewind(name, None if name in redone else words.get(name), files.get(name))
        for name in {**words, **files}
    ]
    return max((one for one in found if one.words or one.files), key=lambda one: one.seq, default=None)


def _back(
    room: FolderScope, view: View, last: _LastRewind, plan: RewindReport, *, force: bool
) -> RewindReport:
    if last.words is not None:
        if not force and any(True for _ in _newer(view, last.words.seq)):
            raise Conflict(
                "the conversation continued after the rewind",
                hint="use --force; newer messages stay after the restored ones",
            )
        gone = [view.entry(ref) for ref in _left_by(view, last.words)]
        entries = [e for e in gone if e is not None and not e.live and not e.flags & FORGOTTEN]
        plan = replace(plan, messages=tuple(_messages(view, entries)))
    if last.files is None:
        return plan
    then = last.files.change
    keeper = room.keeper
    if not keeper.has(then.before):
        raise NotFound(
            "the files from before the rewind are no longer available",
            hint="run `backscroll undo` to restore only the conversation",
        )
    paths = sorted({path for path, _, _ in _touches(keeper, last.files)})
    plan = _plan_file_restore(keeper, plan, then.before, paths) if paths else plan
    left, present = keeper.files(then.after), keeper.files(plan.before)
    return replace(plan, foreign=tuple(p for p in plan.paths if left.get(p, "") != present.get(p, "")))


def _newer(view: View, seq: int) -> Iterator[Ref]:
    """Yield live messages added after an event."""
    for entry, _ in view.page(256, newest_first=True):
        if entry.message.seq > seq:
            yield entry.message


def _left_by(view: View, words: Event) -> list[Ref]:
    """Return the messages deleted in the stroke of a rewind, in order."""
    group = words.head.get("group")
    return [
        e.target
        for e in view.others(int(group) - 1 if isinstance(group, int) else 0)
        if e.kind is Kind.DELETED
        and e.target is not None
        and e.seq < words.seq
        and e.head.get("group") == group
    ]
