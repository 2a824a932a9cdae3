"""The journal of a rewind: what a crash in the middle needs, so that files and conversation agree after the next start.

First the journal is written, then the files are brought back, then one transaction of the log names the journal, then the journal
goes. So whoever finds one can tell what is missing: a log that names it has everything; a log that does not gets it,
unless the conversation has moved on meanwhile; then the files go back to where they were. Refuses: deciding what a rewind does
(`engine/rewinding`). Before: `workspace/restoring`. After: `engine/rewinding`, `engine/changing`.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from backscroll.engine import operations
from backscroll.engine.changing_log import write_change
from backscroll.engine.changing_reading import leaving
from backscroll.engine.lineage import View
from backscroll.engine.pen import Pen
from backscroll.errors import BackscrollError, Conflict
from backscroll.vocab.change import Cause, FileChange
from backscroll.vocab.event import Event, Kind
from backscroll.vocab.ids import Ref, parse_ref

if TYPE_CHECKING:
    from backscroll.engine.changing import Workroom

Outcome: TypeAlias = Literal["finished", "rolled back", "nothing"]


@dataclass(frozen=True, slots=True)
class Journal:
    """One rewind (or the taking back of one) as it is to be done."""

    id: str
    thread: str
    actor: str
    turn: int
    what: str
    before: str = ""  # snapshots; empty where no file is touched
    after: str = ""
    messages: tuple[str, ...] = ()  # that leave, or (taking back) return
    redo: str = ""  # the rewind that is taken back

    @property
    def refs(self) -> list[Ref]:
        """The messages by name."""
        return [parse_ref(name) for name in self.messages]


@dataclass(frozen=True, slots=True)
class Recovery:
    """What became of a rewind that was interrupted."""

    outcome: Outcome
    thread: str
    turn: int
    left: tuple[str, ...] = ()  # files that somebody changed since the crash: left as they are


# -- the file ----------------------------------------------------------------------------------------------------


def journal_of(room: Workroom) -> Path:
    """Where the journal of a folder and a store lies while a rewind is going on."""
    store = hashlib.sha256(room.thread.store.location.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return room.home / "rewinds" / f"{room.place}-{store}.json"


def keep(path: Path, journal: Journal) -> None:
    """Write the journal; it is on the disk when this returns."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = path.with_suffix(".new")
    with fresh.open("wb") as file:
        file.write(json.dumps(asdict(journal), ensure_ascii=True).encode())
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
    _sync_folder(path.parent)


def drop(path: Path) -> None:
    """The rewind is done: the journal goes."""
    path.unlink(missing_ok=True)
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":
        return  # a folder cannot be opened there
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def load(path: Path) -> Journal | None:
    """The journal that lies there; None where there is none, or none that can be read (it is set aside then)."""
    try:
        data: dict[str, Any] = json.loads(path.read_bytes())
        names = tuple(str(name) for name in data.pop("messages"))
        return Journal(messages=names, **data)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError):
        path.replace(path.with_suffix(".damaged"))
        return None


# -- files -------------------------------------------------------------------------------------------------------


def bring(room: Workroom, target: str, paths: Collection[str] = ()) -> None:
    """Bring files (all, or some) to what they are in a snapshot."""
    from backscroll.workspace import restoring

    plan = restoring.plan_restore(room.keeper, target, paths=tuple(paths))
    restoring.execute(plan, _inner(room))


def _inner(room: Workroom) -> Path:
    return journal_of(room).with_suffix(".files")


def touched(files: Collection[FileChange]) -> list[str]:
    """Every path that some changes touch, old names included."""
    return sorted({path for f in files for path in (f.path, f.old_path) if path})


# -- the stroke --------------------------------------------------------------------------------------------------


def write_stroke(room: Workroom, journal: Journal) -> Event | None:
    """The one transaction of a rewind: what became of the files, and the words that leave or return."""
    engine = room.thread.engine
    draft = None
    if journal.before != journal.after:
        files = room.keeper.compare(journal.before, journal.after)
        draft = room.draft(
            journal.before,
            journal.after,
            files,
            Cause("rewind"),
            rewind=journal.id,
            redo=journal.redo,
            turn=journal.turn,
        )

    def work(pen: Pen) -> Event | None:
        written = None if draft is None else write_change(pen, draft)
        if not journal.messages:
            return written
        return _words(pen, journal)

    return engine.thread(journal.thread, actor=journal.actor).stroke(work)


def _words(pen: Pen, journal: Journal) -> Event:
    refs = journal.refs
    if not journal.redo and not still_there(pen.view, refs):
        raise Conflict("the conversation changed while it was being rewound", hint="rewind again")
    group = {"group": pen.state.head + 1}
    kind = Kind.RESTORED if journal.redo else Kind.DELETED
    gone = sum(operations.set_flag(pen, kind, ref, head=group) is not None for ref in _known(pen.view, refs))
    head = {**group, "rewind": journal.id, "turn": journal.turn, "what": journal.what, "count": gone}
    return pen.write(Kind.REWOUND, head={**head, **({"redo": journal.redo} if journal.redo else {})})


def _known(view: View, refs: list[Ref]) -> list[Ref]:
    """Messages that can still be touched: one that was forgotten meanwhile cannot return."""
    from backscroll.record.history import FORGOTTEN

    return [ref for ref in refs if (e := view.entry(ref)) is not None and not e.flags & FORGOTTEN]


def still_there(view: View, refs: list[Ref]) -> bool:
    """True where the conversation from the first of these on is exactly these."""
    first = view.entry(refs[0])
    return first is not None and first.live and [e.message for e in leaving(view, first)] == refs


# -- after a crash -----------------------------------------------------------------------------------------------


def recover(room: Workroom) -> Recovery | None:
    """See to a rewind that was interrupted; for whoever holds the folder's lock."""
    from backscroll.workspace import restoring

    path = journal_of(room)
    journal = load(path)
    if journal is None:
        return None
    inner = _inner(room)
    if inner.exists():
        restoring.recover(inner)
    state = _state(room, journal)
    if state.written or (state.begun and _finishable(room, journal)):
        _forward(room, journal, state)
        outcome: Outcome = "finished"
    elif state.begun:
        bring(room, journal.before, state.ours) if state.ours else None
        outcome = "rolled back"
    else:
        outcome = "nothing"
    drop(path)
    return Recovery(outcome, journal.thread, journal.turn, tuple(state.strange))


@dataclass(frozen=True, slots=True)
class _State:
    written: bool  # the log names the rewind
    begun: bool  # some file is no longer what it was before
    ours: list[str]  # files that are as they were before or as they are to be
    strange: list[str]  # files that are neither


def _state(room: Workroom, journal: Journal) -> _State:
    keeper = room.keeper
    now, before, after = (keeper.files(s) for s in (keeper.take(), journal.before, journal.after))
    paths = touched(keeper.compare(journal.before, journal.after))
    strange = [p for p in paths if now.get(p) not in (before.get(p), after.get(p))]
    begun = any(now.get(p) != before.get(p) for p in paths if p not in strange)
    return _State(_in_log(room, journal), begun, [p for p in paths if p not in strange], strange)


def _in_log(room: Workroom, journal: Journal) -> bool:
    def look(view: View) -> bool:
        return any(e.head.get("rewind") == journal.id for e in reversed(view.others()))

    engine = room.thread.engine
    if engine.store.read(lambda reader: reader.thread(journal.thread)) is None:
        return False
    return engine.thread(journal.thread).reading(look)


def _finishable(room: Workroom, journal: Journal) -> bool:
    """True where the conversation still is as it was when the rewind began."""
    engine = room.thread.engine
    if engine.store.read(lambda reader: reader.thread(journal.thread)) is None:
        return False
    if journal.redo or not journal.messages:
        return True
    return engine.thread(journal.thread).reading(lambda view: still_there(view, journal.refs))


def _forward(room: Workroom, journal: Journal, state: _State) -> None:
    if state.ours:
        bring(room, journal.after, state.ours)
    if not state.written:
        write_stroke(room, journal)


def carry_out(room: Workroom, journal: Journal) -> Event | None:
    """Do a rewind: the journal, the files, the log; where the log refuses, the files go back to where they were."""
    if journal.before == journal.after:
        return write_stroke(room, journal)
    path = journal_of(room)
    paths = touched(room.keeper.compare(journal.before, journal.after))
    keep(path, journal)
    try:
        bring(room, journal.after, paths)
        event = write_stroke(room, journal)
    except BackscrollError:
        bring(room, journal.before, paths)
        drop(path)
        raise
    drop(path)
    return event


def with_files(journal: Journal, before: str, after: str) -> Journal:
    """The same rewind with the snapshots it goes between."""
    return replace(journal, before=before, after=after)
