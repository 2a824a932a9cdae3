"""Query file changes in the log: which ones a thread sees, the turn each belongs to, and which match a filter.

Owns the walk through the rare events of a thread and its shared history. Does not read snapshots or disk.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from backscroll.engine.core.checks import checked_time
from backscroll.engine.core.lineage import View
from backscroll.engine.folder.change_log import ChangeRecord, cause_of, known_of, recorded_of
from backscroll.errors import InvalidInput, NotFound
from backscroll.record.history import Entry
from backscroll.record.order import at_end
from backscroll.record.ports import Reader
from backscroll.vocab.change import CodeChange
from backscroll.vocab.event import Event, Kind
from backscroll.vocab.ids import Ref
from backscroll.vocab.values.moment import microseconds

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import EngineScope, ThreadScope


@dataclass(frozen=True, slots=True)
class ChangeFilter:
    """A filter for changes; a change must match all of it."""

    turn: int | None = None
    file: str | None = None
    since: int | None = None  # microseconds
    until: int | None = None
    limit: int | None = None

    def fits(self, change: CodeChange) -> bool:
        """Return True if a change touches the file and is within the time range."""
        if self.file is not None and not any(
            _is(self.file, f.path) or _is(self.file, f.old_path) for f in change.files
        ):
            return False
        moment = microseconds(change.at)
        return (self.since is None or moment >= self.since) and (self.until is None or moment <= self.until)


def wish(
    turn: int | None = None,
    file: str | None = None,
    since: str | datetime | None = None,
    until: str | datetime | None = None,
    limit: int | None = None,
) -> ChangeFilter:
    """Return a validated filter."""
    if limit is not None and limit < 0:
        raise InvalidInput(f"cannot list {limit} changes", hint="give a number of 0 or more")
    begin, end = checked_time(since), checked_time(until)
    return ChangeFilter(
        turn,
        file,
        None if begin is None else microseconds(begin),
        None if end is None else microseconds(end),
        limit,
    )


def _is(wanted: str, path: str) -> bool:
    """Return True for the file itself, and for a file in a folder of this name."""
    wanted = wanted.removeprefix("./").rstrip("/")
    return path == wanted or path.startswith(f"{wanted}/")


def changes(thread: ThreadScope, asked: ChangeFilter) -> list[CodeChange]:
    """Return the changes of a thread that match, the newest first."""
    if asked.turn is not None and asked.turn not in range(thread.info.turns + 1):
        raise NotFound(f"thread {thread.id[:8]} has no turn {asked.turn}", hint=f"it has {thread.info.turns}")

    def look(view: View) -> list[CodeChange]:
        out: list[CodeChange] = []
        for event in reversed(changing_events(view)):
            if asked.limit is not None and len(out) >= asked.limit:
                break
            if event.body is None:
                continue
            change = recorded_of(event).change
            if not asked.fits(change):
                continue
            number = turn_of(view, event)
            if asked.turn is None or asked.turn == number:
                out.append(replace(change, turn=number))
        return out

    return thread.reading(look)


def changing_events(view: View) -> list[Event]:
    """Return the events about changes that a view sees, oldest first, without those of a parent's later turns."""
    return [e for e in view.others() if e.kind is Kind.CODE_CHANGED and _is_shared(view, e)]


def _is_shared(view: View, event: Event) -> bool:
    if event.thread == view.state.id:
        return True
    limit = view.limit(event.thread)
    if limit is None:
        return True
    cause = cause_of(event)
    return at_end(event.seq) <= limit if cause is None else view.entry(cause) is not None


def list_changes(view: View, place: str) -> list[ChangeRecord]:
    """Return the changes of one folder that a view sees, oldest first, including those with forgotten text."""
    out = [recorded_of(e) for e in changing_events(view)]
    return [r for r in out if r.place == place and r.change.before and r.change.after]


def add_turn_number(view: View, event: Event) -> CodeChange:
    """Return a change with the number of its turn."""
    return recorded_of(event, turn_of(view, event)).change


def turn_of(view: View, event: Event) -> int | None:
    """Return the turn that a change belongs to: that of the message that caused it, else the one in which it was detected."""
    message = cause_of(event)
    if message is None:
        return view.count(role="user", upto=at_end(event.seq))
    entry = view.entry(message)
    return view.count(role="user", upto=entry.position) if entry is not None and entry.live else None


# -- one folder, in any thread -----------------------------------------------------------------------------------


def everywhere(engine: EngineScope, place: str, root: str, own: str) -> list[ChangeRecord]:
    """Return every change of a folder in the store, in any thread, oldest first."""
    known = engine.store.read(lambda reader: known_of(reader, place))
    names = dict.fromkeys((own, *known.threads))
    names.update({info.id: None for info in engine.threads() if info.metadata.get("workspace") == root})
    found: dict[Ref, ChangeRecord] = {}

    def look(reader: Reader) -> None:
        for name in names:
            state = reader.thread(name)
            if state is not None:  # the record may name a thread of another store
                found.update({one.change.id: one for one in list_changes(View(reader, state), place)})

    engine.store.read(look)
    return sorted(found.values(), key=lambda one: (one.order, microseconds(one.change.at), one.change.id))


# -- where turns begin -------------------------------------------------------------------------------------------


def leaving(view: View, opening: Entry) -> list[Entry]:
    """Return the live entries from this one on, in order."""
    out = [opening]
    after = opening.position
    while rows := view.page(256, after=after):
        out += [entry for entry, _ in rows]
        after = rows[-1][0].position
    return out


def since_turn(view: View, place: str, opening: Entry) -> list[ChangeRecord]:
    """Return the changes of a folder since a turn began, oldest first.

    What the user changed before the first answer counts as present when the turn began: the folder may be scanned right
    before their message is written, or right after it.
    """
    seq = opening.message.seq
    found = [r for r in list_changes(view, place) if r.change.id.seq > seq]
    answered = _find_answer(view, seq)
    while (
        found
        and found[0].by in ("person", "program")
        and (answered is None or found[0].change.id.seq < answered)
    ):
        found.pop(0)
    return found


def _find_answer(view: View, seq: int) -> int | None:
    """Return the number of the first answer after this event."""
    step = 64
    first = seq + 1
    while first <= view.as_of:
        for number in range(first, min(first + step, view.as_of + 1)):
            event = view.event(number)
            if (
                event is not None
                and event.kind in (Kind.APPENDED, Kind.INSERTED)
                and event.head.get("role") != "user"
            ):
                return number
        first += step
    return None
