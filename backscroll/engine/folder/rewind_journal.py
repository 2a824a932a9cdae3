"""Carry out a rewind so that files and conversation agree, even if the program is killed.

First the journal of the files is written (`workspace/snapshots/restore`; it contains what the log will record), then the
files are restored, then one transaction of the log records the rewind, then the journal is deleted. A process that finds a
journal can tell what is missing: if the log records the rewind, it is complete; if not, it is recorded now, unless the
conversation has moved on meanwhile: then the files are rolled back. What a rewind does is decided in
`engine/folder/rewind`.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from backscroll.engine.core.lineage import View
from backscroll.engine.core.pen import Pen
from backscroll.engine.folder.change_log import ChangeDraft, write_change
from backscroll.engine.folder.change_query import leaving
from backscroll.engine.folder.rewind_tasks import give_back, take_back
from backscroll.engine.log import operations
from backscroll.errors import BackscrollError, Conflict, FormatError
from backscroll.record.history import FORGOTTEN
from backscroll.vocab.change import Cause
from backscroll.vocab.event import Event, Kind
from backscroll.vocab.ids import Ref, parse_ref

if TYPE_CHECKING:
    from backscroll.engine.folder.folder_scope import FolderScope

Outcome: TypeAlias = Literal["finished", "rolled back"]


@dataclass(frozen=True, slots=True)
class RewindJournal:
    """One rewind or redo to be carried out."""

    id: str
    thread: str
    actor: str
    turn: int
    what: str
    before: str = ""  # snapshots; empty if no file is changed
    after: str = ""
    paths: tuple[str, ...] = ()  # files that are changed
    messages: tuple[str, ...] = ()  # messages to be deleted, or (redo) restored
    redo: str = ""  # the rewind to be reverted

    @property
    def refs(self) -> list[Ref]:
        """The ids of the messages."""
        return [parse_ref(name) for name in self.messages]


@dataclass(frozen=True, slots=True)
class RewindRecovery:
    """The outcome of an interrupted rewind."""

    outcome: Outcome
    thread: str
    turn: int
    left: tuple[str, ...] = ()  # files that the user changed since the crash: left as they are


def journal_of(room: FolderScope) -> Path:
    """Return the path of the journal of a folder and a store during a rewind."""
    return room.home / "rewinds" / f"{room.place}-{_mark(room.thread.store.location)}.json"


def _mark(store: str) -> str:
    return hashlib.sha256(store.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def count_unfinished(home: Path, store: str) -> int:
    """Return how many rewinds of a store were interrupted and not recovered yet."""
    return len(list((home / "rewinds").glob(f"*-{_mark(store)}.json")))


def is_interrupted(room: FolderScope) -> bool:
    """Return True if a rewind was interrupted: there is a journal, or contents that were put aside for one."""
    path = journal_of(room)
    return path.exists() or path.with_name(path.name + ".d").exists()


# -- carrying out ------------------------------------------------------------------------------------------------


def carry_out(room: FolderScope, journal: RewindJournal) -> Event | None:
    """Carry out a rewind: the journal, the files, the log; if the log refuses, the files are rolled back."""
    from backscroll.workspace.snapshots import restore  # start-up: an agent starts without it

    if not journal.paths:
        return write_stroke(room, journal, None)
    path = journal_of(room)
    plan = restore.plan_restore(room.keeper, journal.after, paths=journal.paths)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    done = restore.execute(plan, path, facts=asdict(journal), keep_journal=True)
    try:
        event = write_stroke(room, journal, _draft_change(room, journal, left=bool(done.left)))
    except BackscrollError:
        restore.recover(path, back=True)
        raise
    restore.close_journal(path)
    return event


def _draft_change(room: FolderScope, journal: RewindJournal, *, left: bool) -> ChangeDraft:
    """Return the change of the files for the log, without what another process changed meanwhile."""
    began = time.time()
    after = journal.after if left else room.keeper.take()
    among = set(journal.paths)
    files = [f for f in room.keeper.compare(journal.before, after) if f.path in among or f.old_path in among]
    return room.draft(
        journal.before,
        after,
        files,
        Cause("rewind"),
        rewind=journal.id,
        redo=journal.redo,
        turn=journal.turn,
        at=began,
    )


def write_stroke(room: FolderScope, journal: RewindJournal, draft: ChangeDraft | None) -> Event | None:
    """Write the transaction of a rewind: the file change, and the messages deleted or restored."""

    def work(pen: Pen) -> Event | None:
        written = None if draft is None else write_change(pen, draft)
        return write_words(pen, journal) if journal.messages else written

    return room.thread.engine.thread(journal.thread, actor=journal.actor).stroke(work)


def write_words(pen: Pen, journal: RewindJournal) -> Event:
    """Delete or restore the messages and their task steps, and write the event that records the rewind."""
    if not journal.redo and not _still_there(pen.view, journal.refs):
        raise Conflict("the conversation changed while it was being rewound", hint="rewind again")
    group = {"group": pen.state.head + 1}
    kind = Kind.RESTORED if journal.redo else Kind.DELETED
    known = [ref for ref in journal.refs if _can_be_touched(pen, ref)]
    moved = sum(operations.set_flag(pen, kind, ref, head=group) is not None for ref in known)
    if journal.redo:
        give_back(pen, journal.redo, group["group"])
    else:
        take_back(pen, journal.refs[0], group["group"])
    head = {**group, "rewind": journal.id, "turn": journal.turn, "what": journal.what, "count": moved}
    return pen.write(Kind.REWOUND, head={**head, **({"redo": journal.redo} if journal.redo else {})})


def _can_be_touched(pen: Pen, ref: Ref) -> bool:
    """Return False for a message that was forgotten meanwhile: it cannot be restored."""
    entry = pen.entry(ref)
    return entry is not None and not entry.flags & FORGOTTEN


def _still_there(view: View, refs: Sequence[Ref]) -> bool:
    """Return True if the conversation from the first of these messages on is exactly these."""
    first = view.entry(refs[0])
    return first is not None and first.live and [e.message for e in leaving(view, first)] == list(refs)


# -- recovery ----------------------------------------------------------------------------------------------------


def recover(room: FolderScope) -> RewindRecovery | None:
    """Recover an interrupted rewind; the caller holds the folder's lock."""
    from backscroll.workspace.snapshots import restore  # start-up: an agent starts without it
    from backscroll.workspace.snapshots.restore_journal import close_journal, read_journal

    path = journal_of(room)
    found = read_journal(path)
    if found is None:
        # Nothing had begun: delete what was put aside, and a half-written journal.
        restore.recover(path)
        path.with_name(f"{path.name}.tmp").unlink(missing_ok=True)
        return None
    journal = _read(found.facts)
    written = _in_log(room, journal)
    back = not written and not _finishable(room, journal)
    done = restore.recover(path, back=back, close=False)
    left = tuple(one.path for one in done.left)
    if not written and not back:
        write_stroke(room, journal, _draft_change(room, journal, left=bool(left)))
    close_journal(path)
    return RewindRecovery("rolled back" if back else "finished", journal.thread, journal.turn, left)


def _read(facts: Mapping[str, Any]) -> RewindJournal:
    try:
        data = dict(facts)
        paths, messages = (tuple(str(one) for one in data.pop(name)) for name in ("paths", "messages"))
        return RewindJournal(**data, paths=paths, messages=messages)
    except (TypeError, KeyError) as error:
        raise FormatError(
            "the journal of an interrupted rewind was written by another version",
            hint="finish the rewind with the version that began it",
        ) from error


def _in_log(room: FolderScope, journal: RewindJournal) -> bool:
    def look(view: View) -> bool:
        return any(e.head.get("rewind") == journal.id for e in reversed(view.others()))

    return _there(room, journal) and room.thread.engine.thread(journal.thread).reading(look)


def _finishable(room: FolderScope, journal: RewindJournal) -> bool:
    """Return True if the conversation is unchanged since the rewind began."""
    if not _there(room, journal):
        return False
    if journal.redo or not journal.messages:
        return True
    thread = room.thread.engine.thread(journal.thread)
    return thread.reading(lambda view: _still_there(view, journal.refs))


def _there(room: FolderScope, journal: RewindJournal) -> bool:
    return room.thread.store.read(lambda reader: reader.thread(journal.thread)) is not None
